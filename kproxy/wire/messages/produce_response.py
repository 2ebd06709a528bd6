"""ProduceResponse: versions 3 to 13.

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
class BatchIndexAndErrorMessage(MessagePart):
    """An element of `PartitionProduceResponse.record_errors`. The single records because of which the
    batch was refused.
    """

    batch_index: int = 0
    """Position of the refused record in its batch. (from version 8)"""
    batch_index_error_message: str | None = None
    """Why that record was refused; null when nothing is said. (from version 8)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("batch_index", "int32", VersionRange(8)),
            FieldSchema(
                "batch_index_error_message", "string", VersionRange(8), nullable_versions=VersionRange(8)
            ),
        ),
    )


@message_part
class LeaderIdAndEpoch(MessagePart):
    """The value of `PartitionProduceResponse.current_leader`. The leader to turn to, sent with
    NOT_LEADER_OR_FOLLOWER.
    """

    leader_id: int = -1
    """Id of the leading broker; -1 when unknown. (from version 10)"""
    leader_epoch: int = -1
    """Its leader epoch; -1 when unknown. (from version 10)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("leader_id", "int32", VersionRange(10)),
            FieldSchema("leader_epoch", "int32", VersionRange(10)),
        ),
    )


@message_part
class PartitionProduceResponse(MessagePart):
    """An element of `TopicProduceResponse.partition_responses`. Results by partition."""

    index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE when the records are stored as acks demanded."""
    base_offset: int = 0
    """Offset given to the first record."""
    log_append_time_ms: int = -1
    """The broker's time stamp when the topic uses log append time, else -1."""
    log_start_offset: int = -1
    """First offset the partition still has; -1 when unknown. (from version 5)"""
    record_errors: list[BatchIndexAndErrorMessage] = field(default_factory=list)
    """The single records because of which the batch was refused. (from version 8)"""
    error_message: str | None = None
    """What the refused records have in common, in words; null without an error. (from version 8)"""
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    """The leader to turn to, sent with NOT_LEADER_OR_FOLLOWER. (from version 10)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("base_offset", "int64", VersionRange(0)),
            FieldSchema("log_append_time_ms", "int64", VersionRange(2), is_ignorable=True),
            FieldSchema("log_start_offset", "int64", VersionRange(5), is_ignorable=True),
            FieldSchema(
                "record_errors",
                "struct",
                VersionRange(8),
                struct=BatchIndexAndErrorMessage,
                is_array=True,
                is_ignorable=True,
            ),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(8),
                nullable_versions=VersionRange(8),
                is_ignorable=True,
            ),
            FieldSchema(
                "current_leader",
                "struct",
                VersionRange(10),
                struct=LeaderIdAndEpoch,
                tag=0,
                tagged_versions=VersionRange(10),
            ),
        ),
    )


@message_part
class TopicProduceResponse(MessagePart):
    """An element of `ProduceResponse.responses`. Results by topic."""

    name: str = ""
    """The topic's name. (versions 0 to 12)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 13)"""
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0, 12), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(13), is_ignorable=True),
            FieldSchema(
                "partition_responses",
                "struct",
                VersionRange(0),
                struct=PartitionProduceResponse,
                is_array=True,
            ),
        ),
    )


@message_part
class NodeEndpoint(MessagePart):
    """An element of `ProduceResponse.node_endpoints`. Addresses of the brokers named in CurrentLeader."""

    node_id: int = 0
    """The broker's id. (from version 10)"""
    host: str = ""
    """The host name at which it is reached. (from version 10)"""
    port: int = 0
    """The port that goes with the host name. (from version 10)"""
    rack: str | None = None
    """Its rack; null when it has none. (from version 10)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("node_id", "int32", VersionRange(10)),
            FieldSchema("host", "string", VersionRange(10)),
            FieldSchema("port", "int32", VersionRange(10)),
            FieldSchema("rack", "string", VersionRange(10), nullable_versions=VersionRange(10)),
        ),
    )


@message_part
class ProduceResponse(Message):
    """Where the records of a Produce request ended up."""

    responses: list[TopicProduceResponse] = field(default_factory=list)
    """Results by topic."""
    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    """Addresses of the brokers named in CurrentLeader. (from version 10)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ProduceResponse",
        kind="response",
        api_key=0,
        valid_versions=VersionRange(3, 13),
        flexible_versions=VersionRange(9),
        fields=(
            FieldSchema("responses", "struct", VersionRange(0), struct=TopicProduceResponse, is_array=True),
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema(
                "node_endpoints",
                "struct",
                VersionRange(10),
                struct=NodeEndpoint,
                is_array=True,
                tag=0,
                tagged_versions=VersionRange(10),
            ),
        ),
    )
