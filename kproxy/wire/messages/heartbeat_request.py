"""HeartbeatRequest: versions 0 to 4.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class HeartbeatRequest(Message):
    """A member of a classic group says that it is alive."""

    group_id: str = ""
    """The group's id."""
    generation_id: int = 0
    """The generation that the member is in."""
    member_id: str = ""
    """The id that the coordinator gave the member."""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="HeartbeatRequest",
        kind="request",
        api_key=12,
        valid_versions=VersionRange(0, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("generation_id", "int32", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("group_instance_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
        ),
    )
