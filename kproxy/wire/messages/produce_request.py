"""ProduceRequest: versions 3 to 13.

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
class PartitionProduceData(MessagePart):
    """An element of `TopicProduceData.partition_data`. The records, by partition."""

    index: int = 0
    """The partition."""
    records: bytes | memoryview | None = None
    """Whole record batches, never looked into here."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("index", "int32", VersionRange(0)),
            FieldSchema("records", "records", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class TopicProduceData(MessagePart):
    """An element of `ProduceRequest.topic_data`. The records, by topic."""

    name: str = ""
    """The topic's name. (versions 0 to 12)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 13)"""
    partition_data: list[PartitionProduceData] = field(default_factory=list)
    """The records, by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0, 12), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(13), is_ignorable=True),
            FieldSchema(
                "partition_data", "struct", VersionRange(0), struct=PartitionProduceData, is_array=True
            ),
        ),
    )


@message_part
class ProduceRequest(Message):
    """Appends record batches to partitions."""

    transactional_id: str | None = None
    """The producer's transactional id; null outside of transactions."""
    acks: int = 0
    """How many copies must have the records before the answer: -1 all in sync, 1 the leader, 0 none,
    and then no response is sent at all.
    """
    timeout_ms: int = 0
    """How long the leader may wait for those copies."""
    topic_data: list[TopicProduceData] = field(default_factory=list)
    """The records, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ProduceRequest",
        kind="request",
        api_key=0,
        valid_versions=VersionRange(3, 13),
        flexible_versions=VersionRange(9),
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
            FieldSchema("acks", "int16", VersionRange(0)),
            FieldSchema("timeout_ms", "int32", VersionRange(0)),
            FieldSchema("topic_data", "struct", VersionRange(0), struct=TopicProduceData, is_array=True),
        ),
    )
