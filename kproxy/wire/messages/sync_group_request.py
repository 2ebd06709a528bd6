"""SyncGroupRequest: versions 0 to 5.

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
class SyncGroupRequestAssignment(MessagePart):
    """An element of `SyncGroupRequest.assignments`. What each member is to be told; from the leader alone."""

    member_id: str = ""
    """The member's id."""
    assignment: bytes = b""
    """What it is to be told."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("assignment", "bytes", VersionRange(0)),
        ),
    )


@message_part
class SyncGroupRequest(Message):
    """A member of a classic group asks for its assignment; the leader brings everybody's."""

    group_id: str = ""
    """The group's id."""
    generation_id: int = 0
    """The generation that the member is in."""
    member_id: str = ""
    """The id that the coordinator gave the member."""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 3)"""
    protocol_type: str | None = None
    """What the group is for. (from version 5)"""
    protocol_name: str | None = None
    """The protocol that was chosen. (from version 5)"""
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)
    """What each member is to be told; from the leader alone."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SyncGroupRequest",
        kind="request",
        api_key=14,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("generation_id", "int32", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("group_instance_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
            FieldSchema(
                "protocol_type",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema(
                "protocol_name",
                "string",
                VersionRange(5),
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema(
                "assignments", "struct", VersionRange(0), struct=SyncGroupRequestAssignment, is_array=True
            ),
        ),
    )
