"""ListOffsetsResponse: versions 1 to 11.

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
class ListOffsetsPartitionResponse(MessagePart):
    """An element of `ListOffsetsTopicResponse.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why there is no offset."""
    timestamp: int = -1
    """Time stamp of the record found; -1 for the ends of a log and when there is none."""
    offset: int = -1
    """The offset found; -1 when no record is that young."""
    leader_epoch: int = -1
    """Leader epoch of the record found; -1 when unknown. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("timestamp", "int64", VersionRange(1)),
            FieldSchema("offset", "int64", VersionRange(1)),
            FieldSchema("leader_epoch", "int32", VersionRange(4)),
        ),
    )


@message_part
class ListOffsetsTopicResponse(MessagePart):
    """An element of `ListOffsetsResponse.topics`. Results by topic."""

    name: str = ""
    """The topic's name."""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=ListOffsetsPartitionResponse, is_array=True
            ),
        ),
    )


@message_part
class ListOffsetsResponse(Message):
    """The offsets that were asked for."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 2)
    """
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListOffsetsResponse",
        kind="response",
        api_key=2,
        valid_versions=VersionRange(1, 11),
        flexible_versions=VersionRange(6),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=ListOffsetsTopicResponse, is_array=True),
        ),
    )
