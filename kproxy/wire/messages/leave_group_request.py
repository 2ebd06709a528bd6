"""LeaveGroupRequest: versions 0 to 5.

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
class MemberIdentity(MessagePart):
    """An element of `LeaveGroupRequest.members`. The members that leave."""

    member_id: str = ""
    """The member's id. (from version 3)"""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 3)"""
    reason: str | None = None
    """Why it leaves, in words; null when it does not say. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(3)),
            FieldSchema("group_instance_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
            FieldSchema(
                "reason", "string", VersionRange(5), nullable_versions=VersionRange(5), is_ignorable=True
            ),
        ),
    )


@message_part
class LeaveGroupRequest(Message):
    """Members of a classic group leave it."""

    group_id: str = ""
    """The group's id."""
    member_id: str = ""
    """The member that leaves. (versions 0 to 2)"""
    members: list[MemberIdentity] = field(default_factory=list)
    """The members that leave. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="LeaveGroupRequest",
        kind="request",
        api_key=13,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0, 2)),
            FieldSchema("members", "struct", VersionRange(3), struct=MemberIdentity, is_array=True),
        ),
    )
