"""ShareAcknowledgeResponse: versions 1 to 2.

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
class PartitionData(MessagePart):
    """An element of `ShareAcknowledgeTopicResponse.partitions`. Results by partition."""

    partition_index: int = 0
    """The partition."""
    error_code: int = 0
    """NONE when the partition's acknowledgements are durable; else none of them counts."""
    error_message: str | None = None
    """That error in words; null when there is none."""
    current_leader: LeaderIdAndEpoch = field(default_factory=LeaderIdAndEpoch)
    """The leader to turn to; means something only with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("current_leader", "struct", VersionRange(0), struct=LeaderIdAndEpoch),
        ),
    )


@message_part
class ShareAcknowledgeTopicResponse(MessagePart):
    """An element of `ShareAcknowledgeResponse.responses`. Results by topic."""

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
    """An element of `ShareAcknowledgeResponse.node_endpoints`. Addresses of the brokers named in
    CurrentLeader.
    """

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
class ShareAcknowledgeResponse(Message):
    """Which acknowledgements are durable."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """Error of the request as a whole, such as SHARE_SESSION_NOT_FOUND."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    acquisition_lock_timeout_ms: int = 0
    """For how long renewed records are held from now on. (from version 2)"""
    responses: list[ShareAcknowledgeTopicResponse] = field(default_factory=list)
    """Results by topic."""
    node_endpoints: list[NodeEndpoint] = field(default_factory=list)
    """Addresses of the brokers named in CurrentLeader."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareAcknowledgeResponse",
        kind="response",
        api_key=79,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("acquisition_lock_timeout_ms", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema(
                "responses", "struct", VersionRange(0), struct=ShareAcknowledgeTopicResponse, is_array=True
            ),
            FieldSchema("node_endpoints", "struct", VersionRange(0), struct=NodeEndpoint, is_array=True),
        ),
    )
