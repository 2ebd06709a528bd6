"""FetchResponse: versions 4 to 18.

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
class EpochEndOffset(MessagePart):
    """The value of `PartitionData.diverging_epoch`. Where the follower's log stops agreeing with the
    leader's, when it does.
    """

    epoch: int = -1
    """The largest leader epoch both have; -1 when there is none. (from version 12)"""
    end_offset: int = -1
    """Where that epoch ends in the leader's log, exclusive. (from version 12)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("epoch", "int32", VersionRange(12)),
            FieldSchema("end_offset", "int64", VersionRange(12)),
        ),
    )


@message_part
class LeaderIdAndEpoch(MessagePart):
    """The value of `PartitionData.current_leader`. The leader to turn to, sent with
    NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH.
    """

    leader_id: int = -1
    """Id of the leading broker; -1 when unknown. (from version 12)"""
    leader_epoch: int = -1
    """Its leader epoch; -1 when unknown. (from version 12)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("leader_id", "int32", VersionRange(12)),
            FieldSchema("leader_epoch", "int32", VersionRange(12)),
        ),
    )


@message_part
class SnapshotId(MessagePart):
    """The value of `PartitionData.snapshot_id`. The snapshot to load instead, because the log no
    longer reaches back (metadata log only).
    """

    end_offset: int = -1
    """End of what the snapshot covers, exclusive; -1 when there is none."""
    epoch: int = -1
    """Epoch of the last record it covers."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("end_offset", "int64", VersionRange(0)),
            FieldSchema("epoch", "int32", VersionRange(0)),
        ),
    )


@message_part
class AbortedTransaction(MessagePart):
    """An element of `PartitionData.aborted_transactions`. Aborted transactions within the records;
    null when everything is read.
    """

    producer_id: int = 0
    """The producer whose transaction was aborted."""
    first_offset: int = 0
    """Offset of the first record of that transaction."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("producer_id", "int64", VersionRange(4)),
            FieldSchema("first_offset", "int64", VersionRange(4)),
        ),
    )


@message_part
class PartitionData(MessagePart):
    """An element of `FetchableTopicResponse.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why the partition cannot be read."""
    high_watermark: int = 0
    """End of what all in-sync copies have, exclusive; -1 with an error."""
    last_stable_offset: int = -1
    """End of what no open transaction touches, exclusive; -1 when unknown."""
    log_start_offset: int = -1
    """First offset the partition still has; -1 when unknown. (from version 5)"""
    diverging_epoch: EpochEndOffset = field(default_factory=EpochEndOffset)
    """Where the follower's log stops agreeing with the leader's, when it does. (from version 12)"""
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    """The leader to turn to, sent with NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH. (from version 12)"""
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    """The snapshot to load instead, because the log no longer reaches back (metadata log only). (from
    version 12)
    """
    aborted_transactions: list[AbortedTransaction] | None = field(default_factory=list)
    """Aborted transactions within the records; null when everything is read."""
    preferred_read_replica: int = -1
    """The replica the consumer had better read from; -1 when this one will do. (from version 11)"""
    records: bytes | memoryview | None = None
    """Record batches, the last perhaps cut off; never looked into here."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("high_watermark", "int64", VersionRange(0)),
            FieldSchema("last_stable_offset", "int64", VersionRange(4), is_ignorable=True),
            FieldSchema("log_start_offset", "int64", VersionRange(5), is_ignorable=True),
            FieldSchema(
                "diverging_epoch",
                "struct",
                VersionRange(12),
                struct=EpochEndOffset,
                tag=0,
                tagged_versions=VersionRange(12),
            ),
            FieldSchema(
                "current_leader",
                "struct",
                VersionRange(12),
                struct=LeaderIdAndEpoch,
                tag=1,
                tagged_versions=VersionRange(12),
            ),
            FieldSchema(
                "snapshot_id",
                "struct",
                VersionRange(12),
                struct=SnapshotId,
                tag=2,
                tagged_versions=VersionRange(12),
            ),
            FieldSchema(
                "aborted_transactions",
                "struct",
                VersionRange(4),
                struct=AbortedTransaction,
                is_array=True,
                nullable_versions=VersionRange(4),
                is_ignorable=True,
            ),
            FieldSchema("preferred_read_replica", "int32", VersionRange(11)),
            FieldSchema("records", "records", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class FetchableTopicResponse(MessagePart):
    """An element of `FetchResponse.responses`. Results by topic."""

    topic: str = ""
    """The topic's name. (versions 0 to 12)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 13)"""
    partitions: list[PartitionData] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(0, 12), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(13), is_ignorable=True),
            FieldSchema("partitions", "struct", VersionRange(0), struct=PartitionData, is_array=True),
        ),
    )


@message_part
class NodeEndpoint(MessagePart):
    """An element of `FetchResponse.node_endpoints`. Addresses of the brokers named in CurrentLeader."""

    node_id: int = 0
    """The broker's id. (from version 16)"""
    host: str = ""
    """The host name at which it is reached. (from version 16)"""
    port: int = 0
    """The port that goes with the host name. (from version 16)"""
    rack: str | None = None
    """Its rack; null when it has none. (from version 16)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("node_id", "int32", VersionRange(16)),
            FieldSchema("host", "string", VersionRange(16)),
            FieldSchema("port", "int32", VersionRange(16)),
            FieldSchema("rack", "string", VersionRange(16), nullable_versions=VersionRange(16)),
        ),
    )


@message_part
class FetchResponse(Message):
    """The record batches that a Fetch request asked for."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """Error of the request as a whole, such as a lost fetch session. (from version 7)"""
    session_id: int = 0
    """The fetch session; 0 when there is none. (from version 7)"""
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    """Results by topic."""
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    """Addresses of the brokers named in CurrentLeader. (from version 16)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FetchResponse",
        kind="response",
        api_key=1,
        valid_versions=VersionRange(4, 18),
        flexible_versions=VersionRange(12),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(7), is_ignorable=True),
            FieldSchema("session_id", "int32", VersionRange(7)),
            FieldSchema("responses", "struct", VersionRange(0), struct=FetchableTopicResponse, is_array=True),
            FieldSchema(
                "node_endpoints",
                "struct",
                VersionRange(16),
                struct=NodeEndpoint,
                is_array=True,
                tag=0,
                tagged_versions=VersionRange(16),
            ),
        ),
    )
