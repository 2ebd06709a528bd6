"""TxnOffsetCommitRequest: versions 0 to 5.

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
class TxnOffsetCommitRequestPartition(MessagePart):
    """An element of `TxnOffsetCommitRequestTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    committed_offset: int = 0
    """The offset to go on from."""
    committed_leader_epoch: int = -1
    """The leader epoch of the last record consumed; -1 when unknown. (from version 2)"""
    committed_metadata: str | None = ""
    """What the client wants to keep with the offset."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("committed_offset", "int64", VersionRange(0)),
            FieldSchema("committed_leader_epoch", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema("committed_metadata", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class TxnOffsetCommitRequestTopic(MessagePart):
    """An element of `TxnOffsetCommitRequest.topics`. The topics."""

    name: str = ""
    """The topic's name."""
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=TxnOffsetCommitRequestPartition, is_array=True
            ),
        ),
    )


@message_part
class TxnOffsetCommitRequest(Message):
    """Offsets that a group comes to when a transaction is committed."""

    transactional_id: str = ""
    """The transaction's producer."""
    group_id: str = ""
    """The group's id."""
    producer_id: int = 0
    """The producer's id."""
    producer_epoch: int = 0
    """The producer's epoch."""
    generation_id: int = -1
    """The generation, or the member epoch; -1 for a client that is no member. (from version 3)"""
    member_id: str = ""
    """The member's id; empty for a client that is no member. (from version 3)"""
    group_instance_id: str | None = None
    """The id of a static member; null for others. (from version 3)"""
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)
    """The topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="TxnOffsetCommitRequest",
        kind="request",
        api_key=28,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(0)),
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema("producer_epoch", "int16", VersionRange(0)),
            FieldSchema("generation_id", "int32", VersionRange(3)),
            FieldSchema("member_id", "string", VersionRange(3)),
            FieldSchema("group_instance_id", "string", VersionRange(3), nullable_versions=VersionRange(3)),
            FieldSchema(
                "topics", "struct", VersionRange(0), struct=TxnOffsetCommitRequestTopic, is_array=True
            ),
        ),
    )
