"""ShareFetchResponse: versions 1 to 2.

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
class LeaderIdAndEpoch(MessagePart):
    """The value of `PartitionData.current_leader`. The leader to turn to; means something only with
    NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH.
    """

    leader_id: int = 0
    """Id of the leading broker; -1 when unknown."""
    leader_epoch: int = 0
    """Its leader epoch."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("leader_id", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(0)),
        ),
    )


@message_part
class AcquiredRecords(MessagePart):
    """An element of `PartitionData.acquired_records`. The offsets that the member now holds."""

    first_offset: int = 0
    """First offset of the run, inclusive."""
    last_offset: int = 0
    """Last offset of the run, inclusive."""
    delivery_count: int = 0
    """How often these records have been delivered, this time included."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("first_offset", "int64", VersionRange(0)),
            FieldSchema("last_offset", "int64", VersionRange(0)),
            FieldSchema("delivery_count", "int16", VersionRange(0)),
        ),
    )


@message_part
class PartitionData(MessagePart):
    """An element of `ShareFetchableTopicResponse.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE, or why nothing could be acquired."""
    error_message: str | None = None
    """That error in words; null when there is none."""
    acknowledge_error_code: int = 0
    """NONE when the acknowledgements sent along are durable."""
    acknowledge_error_message: str | None = None
    """The error of the acknowledgements in words; null when there is none."""
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    """The leader to turn to; means something only with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""
    records: bytes | memoryview = b""
    """Record batches in which the acquired records are found, among others perhaps; never null from
    version 1.
    """
    acquired_records: list[AcquiredRecords] = field(default_factory=list)
    """The offsets that the member now holds."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("acknowledge_error_code", "int16", VersionRange(0)),
            FieldSchema(
                "acknowledge_error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)
            ),
            FieldSchema("current_leader", "struct", VersionRange(0), struct=LeaderIdAndEpoch),
            FieldSchema("records", "records", VersionRange(0)),
            FieldSchema("acquired_records", "struct", VersionRange(0), struct=AcquiredRecords, is_array=True),
        ),
    )


@message_part
class ShareFetchableTopicResponse(MessagePart):
    """An element of `ShareFetchResponse.responses`. Results by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[PartitionData] = field(default_factory=list)
    """Results by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=PartitionData, is_array=True),
        ),
    )


@message_part
class NodeEndpoint(MessagePart):
    """An element of `ShareFetchResponse.node_endpoints`. Addresses of the brokers named in CurrentLeader."""

    node_id: int = 0
    """The broker's id."""
    host: str = ""
    """The host name at which it is reached."""
    port: int = 0
    """The port that goes with the host name."""
    rack: str | None = None
    """Its rack; null when it has none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("node_id", "int32", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "int32", VersionRange(0)),
            FieldSchema("rack", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class ShareFetchResponse(Message):
    """Records that the member has acquired, and the outcome of its acknowledgements."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """Error of the request as a whole, such as SHARE_SESSION_NOT_FOUND."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    acquisition_lock_timeout_ms: int = 0
    """For how long the member holds the records of this answer."""
    responses: list[ShareFetchableTopicResponse] = field(default_factory=list)
    """Results by topic."""
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    """Addresses of the brokers named in CurrentLeader."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareFetchResponse",
        kind="response",
        api_key=78,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("acquisition_lock_timeout_ms", "int32", VersionRange(1)),
            FieldSchema(
                "responses", "struct", VersionRange(0), struct=ShareFetchableTopicResponse, is_array=True
            ),
            FieldSchema("node_endpoints", "struct", VersionRange(0), struct=NodeEndpoint, is_array=True),
        ),
    )
