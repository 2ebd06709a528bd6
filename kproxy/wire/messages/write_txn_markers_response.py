"""WriteTxnMarkersResponse: versions 1 to 2.

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
class WritableTxnMarkerPartitionResult(MessagePart):
    """An element of `WritableTxnMarkerTopicResult.partitions`. The numbers of the partitions."""

    partition_index: int = 0
    """The number of the partition."""
    error_code: int = 0
    """What went wrong, or 0."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class WritableTxnMarkerTopicResult(MessagePart):
    """An element of `WritableTxnMarkerResult.topics`. The topics."""

    name: str = ""
    """The name of the topic."""
    partitions: list[WritableTxnMarkerPartitionResult] = field(default_factory=list)
    """The numbers of the partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions",
                "struct",
                VersionRange(0),
                struct=WritableTxnMarkerPartitionResult,
                is_array=True,
            ),
        ),
    )


@message_part
class WritableTxnMarkerResult(MessagePart):
    """An element of `WriteTxnMarkersResponse.markers`. The markers."""

    producer_id: int = 0
    """The id of the producer."""
    topics: list[WritableTxnMarkerTopicResult] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=WritableTxnMarkerTopicResult, is_array=True
            ),
        ),
    )


@message_part
class WriteTxnMarkersResponse(Message):
    """Which markers were written."""

    markers: list[WritableTxnMarkerResult] = field(default_factory=list)
    """The markers."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="WriteTxnMarkersResponse",
        kind="response",
        api_key=27,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(1),
        fields=(
            FieldSchema("markers", "struct", VersionRange(0), struct=WritableTxnMarkerResult, is_array=True),
        ),
    )
