"""ConsumerGroupHeartbeatRequest: versions 0 to 1.

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
class TopicPartitions(MessagePart):
    """An element of `ConsumerGroupHeartbeatRequest.topic_partitions`. The partitions that the member
    has; null when nothing changed.
    """

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class ConsumerGroupHeartbeatRequest(Message):
    """A member of a consumer group (KIP-848) joins, stays or leaves."""

    group_id: str = ""
    """The group's id."""
    member_id: str = ""
    """The member's id."""
    member_epoch: int = 0
    """The member epoch; 0 to join, -1 to leave, -2 for a static member that comes back."""
    instance_id: str | None = None
    """The id of a static member; null for others, or when nothing changed."""
    rack_id: str | None = None
    """Where the member is; null when it did not change."""
    rebalance_timeout_ms: int = -1
    """How long the member may take to give partitions up; -1 when it did not change."""
    subscribed_topic_names: list[str] | None = None
    """The topics that the member wants; null when nothing changed."""
    subscribed_topic_regex: str | None = None
    """A pattern of topics that the member wants; null when it did not change. (from version 1)"""
    server_assignor: str | None = None
    """The assignor that the member prefers; null when it did not change."""
    topic_partitions: list[TopicPartitions] | None = None
    """The partitions that the member has; null when nothing changed."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ConsumerGroupHeartbeatRequest",
        kind="request",
        api_key=68,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("instance_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("rack_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("rebalance_timeout_ms", "int32", VersionRange(0)),
            FieldSchema(
                "subscribed_topic_names",
                "string",
                VersionRange(0),
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "subscribed_topic_regex", "string", VersionRange(1), nullable_versions=VersionRange(1)
            ),
            FieldSchema("server_assignor", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema(
                "topic_partitions",
                "struct",
                VersionRange(0),
                struct=TopicPartitions,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )
