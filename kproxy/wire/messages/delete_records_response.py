"""DeleteRecordsResponse: versions 0 to 2.

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
class DeleteRecordsPartitionResult(MessagePart):
    """An element of `DeleteRecordsTopicResult.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    low_watermark: int = 0
    """The first offset that is left on every replica; -1 when it was not shortened."""
    error_code: int = 0
    """Why it was not shortened, or 0."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("low_watermark", "int64", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class DeleteRecordsTopicResult(MessagePart):
    """An element of `DeleteRecordsResponse.topics`. Results by topic."""

    name: str = ""
    """The topic's name."""
    partitions: list[DeleteRecordsPartitionResult] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=DeleteRecordsPartitionResult, is_array=True
            ),
        ),
    )


@message_part
class DeleteRecordsResponse(Message):
    """Where the partitions begin now."""

    throttle_time_ms: int = 0
    """How long the client is asked to be quiet, in milliseconds."""
    topics: list[DeleteRecordsTopicResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteRecordsResponse",
        kind="response",
        api_key=21,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=DeleteRecordsTopicResult, is_array=True),
        ),
    )
