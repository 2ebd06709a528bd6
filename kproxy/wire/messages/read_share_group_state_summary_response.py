"""ReadShareGroupStateSummaryResponse: versions 0 to 1.

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
class PartitionResult(MessagePart):
    """An element of `ReadStateSummaryResult.partitions`. Results by partition."""

    partition: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why there is no summary."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    state_epoch: int = 0
    """Epoch of the state."""
    leader_epoch: int = 0
    """Leader epoch of the last writer."""
    start_offset: int = 0
    """First offset not finally done; -1 when it was not chosen yet."""
    delivery_complete_count: int = -1
    """How many records above the start offset are finally done; -1 when unknown. (from version 1)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("state_epoch", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_complete_count", "int32", VersionRange(1), is_ignorable=True),
        ),
    )


@message_part
class ReadStateSummaryResult(MessagePart):
    """An element of `ReadShareGroupStateSummaryResponse.results`. Results by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[PartitionResult] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=PartitionResult, is_array=True),
        ),
    )


@message_part
class ReadShareGroupStateSummaryResponse(Message):
    """The summaries that were asked for."""

    results: list[ReadStateSummaryResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ReadShareGroupStateSummaryResponse",
        kind="response",
        api_key=87,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("results", "struct", VersionRange(0), struct=ReadStateSummaryResult, is_array=True),
        ),
    )
