"""AlterShareGroupOffsetsRequest: version 0.

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
class AlterShareGroupOffsetsRequestPartition(MessagePart):
    """An element of `AlterShareGroupOffsetsRequestTopic.partitions`. The new start offsets, by partition."""

    partition_index: int = 0
    """The partition."""
    start_offset: int = 0
    """First offset to deliver from now on."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
        ),
    )


@message_part
class AlterShareGroupOffsetsRequestTopic(MessagePart):
    """An element of `AlterShareGroupOffsetsRequest.topics`. The new start offsets, by topic."""

    topic_name: str = ""
    """The topic's name."""
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(default_factory=list)
    """The new start offsets, by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema(
                "partitions",
                "struct",
                VersionRange(0),
                struct=AlterShareGroupOffsetsRequestPartition,
                is_array=True,
            ),
        ),
    )


@message_part
class AlterShareGroupOffsetsRequest(Message):
    """Moves the start offsets of an empty share group (KIP-932)."""

    group_id: str = ""
    """The share group; it must have no members."""
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(default_factory=list)
    """The new start offsets, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AlterShareGroupOffsetsRequest",
        kind="request",
        api_key=91,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=AlterShareGroupOffsetsRequestTopic, is_array=True
            ),
        ),
    )
