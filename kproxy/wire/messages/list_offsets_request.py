"""ListOffsetsRequest: versions 1 to 11.

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
class ListOffsetsPartition(MessagePart):
    """An element of `ListOffsetsTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    current_leader_epoch: int = -1
    """Leader epoch the client believes in, checked by the broker; -1 skips the check. (from version 4)"""
    timestamp: int = 0
    """Milliseconds since the epoch, or a code: -1 the end, -2 the start, -3 the largest time stamp, -4
    and lower for tiered logs.
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("current_leader_epoch", "int32", VersionRange(4), is_ignorable=True),
            FieldSchema("timestamp", "int64", VersionRange(0)),
        ),
    )


@message_part
class ListOffsetsTopic(MessagePart):
    """An element of `ListOffsetsRequest.topics`. The partitions asked about, by topic."""

    name: str = ""
    """The topic's name."""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=ListOffsetsPartition, is_array=True),
        ),
    )


@message_part
class ListOffsetsRequest(Message):
    """Asks for the offset that belongs to a time, or for the ends of partitions."""

    replica_id: int = 0
    """The replica that asks; -1 for a client, which may not look beyond the high watermark."""
    isolation_level: int = 0
    """0 counts everything, 1 stops at the last stable offset. (from version 2)"""
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    """The partitions asked about, by topic."""
    timeout_ms: int = 0
    """How long the broker may take when it must ask remote storage. (from version 10)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListOffsetsRequest",
        kind="request",
        api_key=2,
        valid_versions=VersionRange(1, 11),
        flexible_versions=VersionRange(6),
        fields=(
            FieldSchema("replica_id", "int32", VersionRange(0)),
            FieldSchema("isolation_level", "int8", VersionRange(2)),
            FieldSchema("topics", "struct", VersionRange(0), struct=ListOffsetsTopic, is_array=True),
            FieldSchema("timeout_ms", "int32", VersionRange(10), is_ignorable=True),
        ),
    )
