"""DeleteRecordsRequest: versions 0 to 2.

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
class DeleteRecordsPartition(MessagePart):
    """An element of `DeleteRecordsTopic.partitions`. The partitions to shorten."""

    partition_index: int = 0
    """The partition."""
    offset: int = 0
    """The first offset to keep; -1 keeps nothing below the high watermark."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("offset", "int64", VersionRange(0)),
        ),
    )


@message_part
class DeleteRecordsTopic(MessagePart):
    """An element of `DeleteRecordsRequest.topics`. The topics to shorten."""

    name: str = ""
    """The topic's name."""
    partitions: list[DeleteRecordsPartition] = field(default_factory=list)
    """The partitions to shorten."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=DeleteRecordsPartition, is_array=True
            ),
        ),
    )


@message_part
class DeleteRecordsRequest(Message):
    """Delete the records before given offsets."""

    topics: list[DeleteRecordsTopic] = field(default_factory=list)
    """The topics to shorten."""
    timeout_ms: int = 0
    """How long the broker may wait for followers, in milliseconds."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteRecordsRequest",
        kind="request",
        api_key=21,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("topics", "struct", VersionRange(0), struct=DeleteRecordsTopic, is_array=True),
            FieldSchema("timeout_ms", "int32", VersionRange(0)),
        ),
    )
