"""WriteShareGroupStateRequest: versions 0 to 1.

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
class StateBatch(MessagePart):
    """An element of `PartitionData.state_batches`. Runs of offsets whose state changed."""

    first_offset: int = 0
    """First offset of the run, inclusive."""
    last_offset: int = 0
    """Last offset of the run, inclusive."""
    delivery_state: int = 0
    """State of its records: 0 available, 2 acknowledged, 4 archived."""
    delivery_count: int = 0
    """How often its records have been delivered."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("first_offset", "int64", VersionRange(0)),
            FieldSchema("last_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_state", "int8", VersionRange(0)),
            FieldSchema("delivery_count", "int16", VersionRange(0)),
        ),
    )


@message_part
class PartitionData(MessagePart):
    """An element of `WriteStateData.partitions`. The share-partitions of the topic."""

    partition: int = 0
    """The partition."""
    state_epoch: int = 0
    """Epoch of the state that the writer loaded."""
    leader_epoch: int = 0
    """Leader epoch of the writer."""
    start_offset: int = 0
    """First offset not finally done; -1 leaves it unchanged."""
    delivery_complete_count: int = -1
    """How many records above the start offset are finally done; -1 when unknown. (from version 1)"""
    state_batches: list[StateBatch] = field(default_factory=list)
    """Runs of offsets whose state changed."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("state_epoch", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_complete_count", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("state_batches", "struct", VersionRange(0), struct=StateBatch, is_array=True),
        ),
    )


@message_part
class WriteStateData(MessagePart):
    """An element of `WriteShareGroupStateRequest.topics`. The share-partitions, by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[PartitionData] = field(default_factory=list)
    """The share-partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=PartitionData, is_array=True),
        ),
    )


@message_part
class WriteShareGroupStateRequest(Message):
    """Makes changes of share-partition state durable (KIP-932)."""

    group_id: str = ""
    """The share group."""
    topics: list[WriteStateData] = field(default_factory=list)
    """The share-partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="WriteShareGroupStateRequest",
        kind="request",
        api_key=85,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=WriteStateData, is_array=True),
        ),
    )
