"""TxnOffsetCommitResponse: versions 0 to 5.

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
class TxnOffsetCommitResponsePartition(MessagePart):
    """An element of `TxnOffsetCommitResponseTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why the offset was not taken."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class TxnOffsetCommitResponseTopic(MessagePart):
    """An element of `TxnOffsetCommitResponse.topics`. The topics."""

    name: str = ""
    """The topic's name."""
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions",
                "struct",
                VersionRange(0),
                struct=TxnOffsetCommitResponsePartition,
                is_array=True,
            ),
        ),
    )


@message_part
class TxnOffsetCommitResponse(Message):
    """Which offsets were taken into the transaction."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="TxnOffsetCommitResponse",
        kind="response",
        api_key=28,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=TxnOffsetCommitResponseTopic, is_array=True
            ),
        ),
    )
