"""DeleteTopicsResponse: versions 1 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    ZERO_UUID,
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class DeletableTopicResult(MessagePart):
    """An element of `DeleteTopicsResponse.responses`. What became of each topic."""

    name: str | None = ""
    """The name of the topic."""
    topic_id: bytes = ZERO_UUID
    """The id of the topic. (from version 6)"""
    error_code: int = 0
    """What went wrong, or 0."""
    error_message: str | None = None
    """The same in words, or null. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0), nullable_versions=VersionRange(6)),
            FieldSchema("topic_id", "uuid", VersionRange(6), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class DeleteTopicsResponse(Message):
    """What became of them."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    responses: list[DeletableTopicResult] = field(default_factory=list)
    """What became of each topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteTopicsResponse",
        kind="response",
        api_key=20,
        valid_versions=VersionRange(1, 6),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("responses", "struct", VersionRange(0), struct=DeletableTopicResult, is_array=True),
        ),
    )
