"""OffsetForLeaderEpochRequest: versions 2 to 4.

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
class OffsetForLeaderPartition(MessagePart):
    """An element of `OffsetForLeaderTopic.partitions`. The partitions."""

    partition: int = 0
    """The number of the partition."""
    current_leader_epoch: int = -1
    """The leader epoch that the client knows, or -1."""
    leader_epoch: int = 0
    """The leader epoch that is meant."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("current_leader_epoch", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
        ),
    )


@message_part
class OffsetForLeaderTopic(MessagePart):
    """An element of `OffsetForLeaderEpochRequest.topics`. The topics."""

    topic: str = ""
    """The name of the topic."""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)
    """The partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=OffsetForLeaderPartition, is_array=True
            ),
        ),
    )


@message_part
class OffsetForLeaderEpochRequest(Message):
    """Asks where leader epochs end."""

    replica_id: int = -2
    """The broker that asks, or -1 for a client. (from version 3)"""
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetForLeaderEpochRequest",
        kind="request",
        api_key=23,
        valid_versions=VersionRange(2, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("replica_id", "int32", VersionRange(3), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=OffsetForLeaderTopic, is_array=True),
        ),
    )
