"""DeleteGroupsResponse: versions 0 to 3.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class DeletableGroupResult(MessagePart):
    """An element of `DeleteGroupsResponse.results`. One entry per group asked for."""

    group_id: str = ""
    """The id of the group."""
    error_code: int = 0
    """Why the group was not deleted, 0 when it was."""
    error_message: str | None = None
    """The reason in words, null when there is none. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(3),
                nullable_versions=VersionRange(3),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class DeleteGroupsResponse(Message):
    """What became of the groups that were to be deleted."""

    throttle_time_ms: int = 0
    """How long the broker delayed or asks the client to pause, in milliseconds, because a quota was
    exceeded.
    """
    results: list[DeletableGroupResult] = field(default_factory=list)
    """One entry per group asked for."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteGroupsResponse",
        kind="response",
        api_key=42,
        valid_versions=VersionRange(0, 3),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("results", "struct", VersionRange(0), struct=DeletableGroupResult, is_array=True),
        ),
    )
