"""ShareGroupStatePartitionMetadataValue: version 0.

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
class TopicPartitionsInfo(MessagePart):
    """An element of `ShareGroupStatePartitionMetadataValue.initializing_topics` and an element of
    `ShareGroupStatePartitionMetadataValue.initialized_topics`.
    """

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    topic_name: str = ""
    """The topic's name."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class TopicInfo(MessagePart):
    """An element of `ShareGroupStatePartitionMetadataValue.deleting_topics`. Topics whose state is
    being deleted.
    """

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    topic_name: str = ""
    """The topic's name."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("topic_name", "string", VersionRange(0)),
        ),
    )


@message_part
class ShareGroupStatePartitionMetadataValue(Message):
    """Which share-partitions of a group have durable state, or are on the way there."""

    initializing_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    """Partitions whose state is being initialized."""
    initialized_topics: list[TopicPartitionsInfo] = field(default_factory=list)
    """Partitions whose state exists."""
    deleting_topics: list[TopicInfo] = field(default_factory=list)
    """Topics whose state is being deleted."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupStatePartitionMetadataValue",
        kind="coordinator-value",
        api_key=15,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema(
                "initializing_topics", "struct", VersionRange(0), struct=TopicPartitionsInfo, is_array=True
            ),
            FieldSchema(
                "initialized_topics", "struct", VersionRange(0), struct=TopicPartitionsInfo, is_array=True
            ),
            FieldSchema("deleting_topics", "struct", VersionRange(0), struct=TopicInfo, is_array=True),
        ),
    )
