"""InitializeShareGroupStateResponse: version 0.

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
    """An element of `InitializeStateResult.partitions`. Results by partition."""

    partition: int = 0
    """The partition."""
    error_code: int = 0
    """NONE when the state exists durably."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class InitializeStateResult(MessagePart):
    """An element of `InitializeShareGroupStateResponse.results`. Results by topic."""

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
class InitializeShareGroupStateResponse(Message):
    """Which share-partitions have durable state now."""

    results: list[InitializeStateResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="InitializeShareGroupStateResponse",
        kind="response",
        api_key=83,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("results", "struct", VersionRange(0), struct=InitializeStateResult, is_array=True),
        ),
    )
