"""ReadShareGroupStateRequest: version 0.

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
    """An element of `ReadStateData.partitions`. The share-partitions of the topic."""

    partition: int = 0
    """The partition."""
    leader_epoch: int = 0
    """Leader epoch of the reader; fences writes of older leaders from now on."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
        ),
    )


@message_part
class ReadStateData(MessagePart):
    """An element of `ReadShareGroupStateRequest.topics`. The share-partitions, by topic."""

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
class ReadShareGroupStateRequest(Message):
    """Loads durable state into the leader of share-partitions (KIP-932)."""

    group_id: str = ""
    """The share group."""
    topics: list[ReadStateData] = field(default_factory=list)
    """The share-partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ReadShareGroupStateRequest",
        kind="request",
        api_key=84,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=ReadStateData, is_array=True),
        ),
    )
