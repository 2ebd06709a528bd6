"""InitializeShareGroupStateRequest: version 0.

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
class PartitionData(MessagePart):
    """An element of `InitializeStateData.partitions`. The share-partitions of the topic."""

    partition: int = 0
    """The partition."""
    state_epoch: int = 0
    """Epoch of the state; grows with every initialization of the share-partition."""
    start_offset: int = 0
    """First offset to deliver; -1 when the leader chooses it on first use."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("state_epoch", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
        ),
    )


@message_part
class InitializeStateData(MessagePart):
    """An element of `InitializeShareGroupStateRequest.topics`. The share-partitions, by topic."""

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
class InitializeShareGroupStateRequest(Message):
    """Makes the share coordinator begin durable state for share-partitions (KIP-932)."""

    group_id: str = ""
    """The share group."""
    topics: list[InitializeStateData] = field(default_factory=list)
    """The share-partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="InitializeShareGroupStateRequest",
        kind="request",
        api_key=83,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=InitializeStateData, is_array=True),
        ),
    )
