"""LeaveGroupResponse: versions 0 to 5.

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
class MemberResponse(MessagePart):
    """An element of `LeaveGroupResponse.members`. One entry for each member of the request."""

    member_id: str = ""
    """The member's id. (from version 3)"""
    group_instance_id: str | None = ""
    """The id of a static member; null for others. (from version 3)"""
    error_code: int = 0
    """NONE, or why this member did not leave. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(3)),
            FieldSchema("group_instance_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
            FieldSchema("error_code", "int16", VersionRange(3)),
        ),
    )


@message_part
class LeaveGroupResponse(Message):
    """Which members are gone."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 1)
    """
    error_code: int = 0
    """NONE, or why nobody left."""
    members: list[MemberResponse] = field(default_factory=list)
    """One entry for each member of the request. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="LeaveGroupResponse",
        kind="response",
        api_key=13,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("members", "struct", VersionRange(3), struct=MemberResponse, is_array=True),
        ),
    )
