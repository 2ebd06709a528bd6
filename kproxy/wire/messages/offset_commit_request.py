"""OffsetCommitRequest: versions 2 to 10.

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
class OffsetCommitRequestPartition(MessagePart):
    """An element of `OffsetCommitRequestTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    committed_offset: int = 0
    """The offset to go on from."""
    committed_leader_epoch: int = -1
    """The leader epoch of the last record consumed; -1 when unknown. (from version 6)"""
    committed_metadata: str | None = ""
    """What the client wants to keep with the offset."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("committed_offset", "int64", VersionRange(0)),
            FieldSchema("committed_leader_epoch", "int32", VersionRange(6), is_ignorable=True),
            FieldSchema("committed_metadata", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class OffsetCommitRequestTopic(MessagePart):
    """An element of `OffsetCommitRequest.topics`. The topics."""

    name: str = ""
    """The topic's name. (versions 0 to 9)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 10)"""
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0, 9), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(10), is_ignorable=True),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=OffsetCommitRequestPartition, is_array=True
            ),
        ),
    )


@message_part
class OffsetCommitRequest(Message):
    """Offsets that a group, or a member of it, has come to."""

    group_id: str = ""
    """The group's id."""
    generation_id_or_member_epoch: int = -1
    """The generation, or the member epoch; -1 for a client that is no member."""
    member_id: str = ""
    """The member's id; empty for a client that is no member."""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 7)"""
    retention_time_ms: int = -1
    """How long to keep the offsets; -1 for as long as the broker likes. (versions 2 to 4)"""
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="OffsetCommitRequest",
        kind="request",
        api_key=8,
        valid_versions=VersionRange(2, 10),
        flexible_versions=VersionRange(8),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("generation_id_or_member_epoch", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("member_id", "string", VersionRange(1), is_ignorable=True),
            FieldSchema("group_instance_id", "string", VersionRange(7), nullable_versions=VersionRange(7)),
            FieldSchema("retention_time_ms", "int64", VersionRange(2, 4), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=OffsetCommitRequestTopic, is_array=True),
        ),
    )
