"""ShareGroupHeartbeatRequest: version 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupHeartbeatRequest(Message):
    """Joins a share group, stays in it, or leaves it (KIP-932)."""

    group_id: str = ""
    """The share group."""
    member_id: str = ""
    """The member's id, which the client itself made up when it joined."""
    member_epoch: int = 0
    """The member epoch last heard from the coordinator; 0 joins, -1 leaves."""
    rack_id: str | None = None
    """The member's rack; null when it has none or has not changed it."""
    subscribed_topic_names: list[str] | None = None
    """The topics wanted; null when they have not changed since the last heartbeat."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupHeartbeatRequest",
        kind="request",
        api_key=76,
        valid_versions=VersionRange(1, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("rack_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema(
                "subscribed_topic_names",
                "string",
                VersionRange(0),
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )
