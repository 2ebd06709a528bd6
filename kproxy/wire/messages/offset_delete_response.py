"""OffsetDeleteResponse: version 0.

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
class OffsetDeleteResponsePartition(MessagePart):
    """An element of `OffsetDeleteResponseTopic.partitions`. By partition."""

    partition_index: int = 0
    """The partition's number."""
    error_code: int = 0
    """Why its offset was not forgotten; 0 otherwise."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )


@message_part
class OffsetDeleteResponseTopic(MessagePart):
    """An element of `OffsetDeleteResponse.topics`. By topic."""

    name: str = ""
    """The topic's name."""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)
    """By partition."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=OffsetDeleteResponsePartition, is_array=True
            ),
        ),
    )


@message_part
class OffsetDeleteResponse(Message):
    """What became of each offset."""

    error_code: int = 0
    """Why nothing was forgotten; 0 otherwise."""
    throttle_time_ms: int = 0
    """For how long the broker throttles the client, in milliseconds."""
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)
    """By topic."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetDeleteResponse",
        kind="response",
        api_key=47,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("throttle_time_ms", "int32", VersionRange(0), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=OffsetDeleteResponseTopic, is_array=True),
        ),
    )
