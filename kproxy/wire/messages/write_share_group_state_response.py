"""WriteShareGroupStateResponse: versions 0 to 1.

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
    """An element of `WriteStateResult.partitions`. Results by partition."""

    partition: int = 0
    """The partition."""
    error_code: int = 0
    """NONE when the change is durable."""
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
class WriteStateResult(MessagePart):
    """An element of `WriteShareGroupStateResponse.results`. Results by topic."""

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
class WriteShareGroupStateResponse(Message):
    """Which changes are durable."""

    results: list[WriteStateResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="WriteShareGroupStateResponse",
        kind="response",
        api_key=85,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(FieldSchema("results", "struct", VersionRange(0), struct=WriteStateResult, is_array=True),),
    )
