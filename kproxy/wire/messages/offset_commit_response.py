"""OffsetCommitResponse: versions 2 to 10.

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
class OffsetCommitResponsePartition(MessagePart):
    """An element of `OffsetCommitResponseTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why the offset was not committed."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class OffsetCommitResponseTopic(MessagePart):
    """An element of `OffsetCommitResponse.topics`. The topics."""

    name: str = ""
    """The topic's name. (versions 0 to 9)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 10)"""
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0, 9), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(10), is_ignorable=True),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=OffsetCommitResponsePartition, is_array=True
            ),
        ),
    )


@message_part
class OffsetCommitResponse(Message):
    """Which offsets were committed."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 3)
    """
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetCommitResponse",
        kind="response",
        api_key=8,
        valid_versions=VersionRange(2, 10),
        flexible_versions=VersionRange(8),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(3), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=OffsetCommitResponseTopic, is_array=True),
        ),
    )
