"""JoinGroupResponse: versions 0 to 9.

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
class JoinGroupResponseMember(MessagePart):
    """An element of `JoinGroupResponse.members`. All members, for the leader alone."""

    member_id: str = ""
    """The member's id."""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 5)"""
    metadata: bytes = b""
    """What it said of itself for the protocol that was chosen."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema(
                "group_instance_id",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema("metadata", "bytes", VersionRange(0)),
        ),
    )


@message_part
class JoinGroupResponse(Message):
    """The coordinator's answer once the group has its members, or an error."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 2)
    """
    error_code: int = 0
    """NONE, or why the member is not in the group."""
    generation_id: int = -1
    """The generation of the group; -1 with an error."""
    protocol_type: str | None = None
    """What the group is for; null when unknown. (from version 7)"""
    protocol_name: str | None = ""
    """The protocol that was chosen; null or empty with an error."""
    leader: str = ""
    """The member that assigns partitions."""
    skip_assignment: bool = False
    """Whether the leader is not to assign anything. (from version 9)"""
    member_id: str = ""
    """The member's id."""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
    """All members, for the leader alone."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="JoinGroupResponse",
        kind="response",
        api_key=11,
        valid_versions=VersionRange(0, 9),
        flexible_versions=VersionRange(6),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("generation_id", "int32", VersionRange(0)),
            FieldSchema(
                "protocol_type",
                "string",
                VersionRange(7),
                nullable_versions=VersionRange(7),
                is_ignorable=True,
            ),
            FieldSchema("protocol_name", "string", VersionRange(0), nullable_versions=VersionRange(7)),
            FieldSchema("leader", "string", VersionRange(0)),
            FieldSchema("skip_assignment", "bool", VersionRange(9)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("members", "struct", VersionRange(0), struct=JoinGroupResponseMember, is_array=True),
        ),
    )
