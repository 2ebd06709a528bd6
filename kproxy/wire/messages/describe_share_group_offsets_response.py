"""DescribeShareGroupOffsetsResponse: versions 0 to 1.

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
class DescribeShareGroupOffsetsResponsePartition(MessagePart):
    """An element of `DescribeShareGroupOffsetsResponseTopic.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    start_offset: int = 0
    """First offset not finally done; -1 when the group has no state here."""
    leader_epoch: int = 0
    """Leader epoch of the last writer of the state."""
    lag: int = -1
    """How many records are still to be delivered or finished; -1 when unknown. (from version 1)"""
    error_code: int = 0
    """NONE, or why the partition has no answer."""
    error_message: str | None = None
    """That error in words; null when there is none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("start_offset", "int64", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
            FieldSchema("lag", "int64", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class DescribeShareGroupOffsetsResponseTopic(MessagePart):
    """An element of `DescribeShareGroupOffsetsResponseGroup.topics`. Results by topic."""

    topic_name: str = ""
    """The topic's name."""
    topic_id: bytes = ZERO_UUID
    """The topic's id; all zero when unknown."""
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema(
                "partitions",
                "struct",
                VersionRange(0),
                struct=DescribeShareGroupOffsetsResponsePartition,
                is_array=True,
            ),
        ),
    )


@message_part
class DescribeShareGroupOffsetsResponseGroup(MessagePart):
    """An element of `DescribeShareGroupOffsetsResponse.groups`. One entry per group."""

    group_id: str = ""
    """The share group."""
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(default_factory=list)
    """Results by topic."""
    error_code: int = 0
    """NONE, or why the group has no answer."""
    error_message: str | None = None
    """The group's error in words; null when there is none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema(
                "topics",
                "struct",
                VersionRange(0),
                struct=DescribeShareGroupOffsetsResponseTopic,
                is_array=True,
            ),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class DescribeShareGroupOffsetsResponse(Message):
    """Where share groups stand."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(default_factory=list)
    """One entry per group."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeShareGroupOffsetsResponse",
        kind="response",
        api_key=90,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema(
                "groups",
                "struct",
                VersionRange(0),
                struct=DescribeShareGroupOffsetsResponseGroup,
                is_array=True,
            ),
        ),
    )
