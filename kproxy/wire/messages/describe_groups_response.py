"""DescribeGroupsResponse: versions 0 to 6.

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
class DescribedGroupMember(MessagePart):
    """An element of `DescribedGroup.members`. One entry per member."""

    member_id: str = ""
    """The member's id."""
    group_instance_id: str | None = None
    """The id of a static member, null for others. (from version 4)"""
    client_id: str = ""
    """The client.id that the member sent."""
    client_host: str = ""
    """Where the member is."""
    member_metadata: bytes = b""
    """What the member said of itself."""
    member_assignment: bytes = b""
    """What the member was assigned."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema(
                "group_instance_id",
                "string",
                VersionRange(4),
                nullable_versions=VersionRange(4),
                is_ignorable=True,
            ),
            FieldSchema("client_id", "string", VersionRange(0)),
            FieldSchema("client_host", "string", VersionRange(0)),
            FieldSchema("member_metadata", "bytes", VersionRange(0)),
            FieldSchema("member_assignment", "bytes", VersionRange(0)),
        ),
    )


@message_part
class DescribedGroup(MessagePart):
    """An element of `DescribeGroupsResponse.groups`. One entry per group asked for."""

    error_code: int = 0
    """Why the group is not described, 0 when it is."""
    error_message: str | None = None
    """The reason in words, null when there is none. (from version 6)"""
    group_id: str = ""
    """The id of the group."""
    group_state: str = ""
    """The name of the group's state; Dead for one that does not exist."""
    protocol_type: str = ""
    """What the members use the group for, such as consumer."""
    protocol_data: str = ""
    """The protocol that the members agreed on."""
    members: list[DescribedGroupMember] = field(default_factory=list)
    """One entry per member."""
    authorized_operations: int = -2147483648
    """Bit set of what the client may do to the group; the minimum int32 when it was not asked for.
    (from version 3)
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(6), nullable_versions=VersionRange(6)),
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("group_state", "string", VersionRange(0)),
            FieldSchema("protocol_type", "string", VersionRange(0)),
            FieldSchema("protocol_data", "string", VersionRange(0)),
            FieldSchema("members", "struct", VersionRange(0), struct=DescribedGroupMember, is_array=True),
            FieldSchema("authorized_operations", "int32", VersionRange(3)),
        ),
    )


@message_part
class DescribeGroupsResponse(Message):
    """Groups as their coordinator knows them, as classic groups."""

    throttle_time_ms: int = 0
    """How long the broker delayed or asks the client to pause, in milliseconds, because a quota was
    exceeded. (from version 1)
    """
    groups: list[DescribedGroup] = field(default_factory=list)
    """One entry per group asked for."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeGroupsResponse",
        kind="response",
        api_key=15,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(5),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("groups", "struct", VersionRange(0), struct=DescribedGroup, is_array=True),
        ),
    )
