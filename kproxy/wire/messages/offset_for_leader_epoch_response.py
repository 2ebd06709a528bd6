"""OffsetForLeaderEpochResponse: versions 2 to 4.

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
class EpochEndOffset(MessagePart):
    """An element of `OffsetForLeaderTopicResult.partitions`. The partitions."""

    error_code: int = 0
    """What went wrong, or 0."""
    partition: int = 0
    """The number of the partition."""
    leader_epoch: int = -1
    """The leader epoch that is meant."""
    end_offset: int = -1
    """The offset behind the last record of the epoch."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("end_offset", "int64", VersionRange(0)),
        ),
    )


@message_part
class OffsetForLeaderTopicResult(MessagePart):
    """An element of `OffsetForLeaderEpochResponse.topics`. The topics."""

    topic: str = ""
    """The name of the topic."""
    partitions: list[EpochEndOffset] = field(default_factory=list)
    """The partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=EpochEndOffset, is_array=True),
        ),
    )


@message_part
class OffsetForLeaderEpochResponse(Message):
    """Where they end."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetForLeaderEpochResponse",
        kind="response",
        api_key=23,
        valid_versions=VersionRange(2, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=OffsetForLeaderTopicResult, is_array=True
            ),
        ),
    )
