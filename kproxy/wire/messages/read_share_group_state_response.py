"""ReadShareGroupStateResponse: version 0.

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
class StateBatch(MessagePart):
    """An element of `PartitionResult.state_batches`. Runs of offsets above the start offset whose
    state is not simply unseen.
    """

    first_offset: int = 0
    """First offset of the run, inclusive."""
    last_offset: int = 0
    """Last offset of the run, inclusive."""
    delivery_state: int = 0
    """State of its records: 0 available, 2 acknowledged, 4 archived."""
    delivery_count: int = 0
    """How often its records have been delivered."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("first_offset", "int64", VersionRange(0)),
            FieldSchema("last_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_state", "int8", VersionRange(0)),
            FieldSchema("delivery_count", "int16", VersionRange(0)),
        ),
    )


@message_part
class PartitionResult(MessagePart):
    """An element of `ReadStateResult.partitions`. Results by partition."""

    partition: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why the state cannot be read."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    state_epoch: int = 0
    """Epoch of the state; -1 with an error."""
    start_offset: int = 0
    """First offset not finally done; -1 when it was not chosen yet."""
    state_batches: list[StateBatch] = field(default_factory=list)
    """Runs of offsets above the start offset whose state is not simply unseen."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("state_epoch", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
            FieldSchema("state_batches", "struct", VersionRange(0), struct=StateBatch, is_array=True),
        ),
    )


@message_part
class ReadStateResult(MessagePart):
    """An element of `ReadShareGroupStateResponse.results`. Results by topic."""

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
class ReadShareGroupStateResponse(Message):
    """The durable state that was asked for."""

    results: list[ReadStateResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ReadShareGroupStateResponse",
        kind="response",
        api_key=84,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(FieldSchema("results", "struct", VersionRange(0), struct=ReadStateResult, is_array=True),),
    )
