"""JoinGroupRequest: versions 0 to 9.

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
class JoinGroupRequestProtocol(MessagePart):
    """An element of `JoinGroupRequest.protocols`. The protocols that the member knows, the one it
    likes best first.
    """

    name: str = ""
    """The protocol's name."""
    metadata: bytes = b""
    """What the leader is to know of the member."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("metadata", "bytes", VersionRange(0)),
        ),
    )


@message_part
class JoinGroupRequest(Message):
    """A member joins a classic group, or joins it anew."""

    group_id: str = ""
    """The group's id."""
    session_timeout_ms: int = 0
    """After how long without a heartbeat the member counts as gone."""
    rebalance_timeout_ms: int = -1
    """How long the member may take to join anew during a rebalance; -1 for as long as its session.
    (from version 1)
    """
    member_id: str = ""
    """The id that the coordinator gave the member; empty when it has none yet."""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 5)"""
    protocol_type: str = ""
    """What the group is for: `consumer`, `connect` and so on."""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    """The protocols that the member knows, the one it likes best first."""
    reason: str | None = None
    """Why the member joins, in words; null when it does not say. (from version 8)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="JoinGroupRequest",
        kind="request",
        api_key=11,
        valid_versions=VersionRange(0, 9),
        flexible_versions=VersionRange(6),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("session_timeout_ms", "int32", VersionRange(0)),
            FieldSchema("rebalance_timeout_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("group_instance_id", "string", VersionRange(5), nullable_versions=VersionRange(5)),
            FieldSchema("protocol_type", "string", VersionRange(0)),
            FieldSchema(
                "protocols", "struct", VersionRange(0), struct=JoinGroupRequestProtocol, is_array=True
            ),
            FieldSchema(
                "reason", "string", VersionRange(8), nullable_versions=VersionRange(8), is_ignorable=True
            ),
        ),
    )
