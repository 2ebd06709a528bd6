"""MetadataResponse: versions 0 to 13.

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
class MetadataResponseBroker(MessagePart):
    """An element of `MetadataResponse.brokers`. Every broker that is alive."""

    node_id: int = 0
    """The broker's id."""
    host: str = ""
    """The host name at which clients of this listener reach it."""
    port: int = 0
    """The port that goes with the host name."""
    rack: str | None = None
    """The broker's rack; null when it has none. (from version 1)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("node_id", "int32", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "int32", VersionRange(0)),
            FieldSchema(
                "rack", "string", VersionRange(1), nullable_versions=VersionRange(1), is_ignorable=True
            ),
        ),
    )


@message_part
class MetadataResponsePartition(MessagePart):
    """An element of `MetadataResponseTopic.partitions`. One entry per partition."""

    error_code: int = 0
    """NONE, or what is wrong with the partition, such as LEADER_NOT_AVAILABLE."""
    partition_index: int = 0
    """The partition, counted from 0."""
    leader_id: int = 0
    """Id of the leading broker; -1 while there is none."""
    leader_epoch: int = -1
    """How often leadership has changed; -1 when unknown. (from version 7)"""
    replica_nodes: list[int] = field(default_factory=list)
    """Ids of all brokers that hold the partition."""
    isr_nodes: list[int] = field(default_factory=list)
    """Ids of those whose copy is in sync."""
    offline_replicas: list[int] = field(default_factory=list)
    """Ids of those whose copy cannot be reached. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("leader_id", "int32", VersionRange(0)),
            FieldSchema("leader_epoch", "int32", VersionRange(7), is_ignorable=True),
            FieldSchema("replica_nodes", "int32", VersionRange(0), is_array=True),
            FieldSchema("isr_nodes", "int32", VersionRange(0), is_array=True),
            FieldSchema("offline_replicas", "int32", VersionRange(5), is_array=True, is_ignorable=True),
        ),
    )


@message_part
class MetadataResponseTopic(MessagePart):
    """An element of `MetadataResponse.topics`. One entry per topic asked for, with its error if it has
    one.
    """

    error_code: int = 0
    """NONE, or why the topic cannot be described."""
    name: str | None = ""
    """The topic's name; null when it was asked for by an id that does not exist."""
    topic_id: bytes = ZERO_UUID
    """The topic's id; all zero when unknown. (from version 10)"""
    is_internal: bool = False
    """Whether the topic belongs to Kafka itself, such as __consumer_offsets. (from version 1)"""
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    """One entry per partition."""
    topic_authorized_operations: int = -2147483648
    """Bit set of what the client may do to the topic; the minimum int32 when it was not asked for.
    (from version 8)
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("name", "string", VersionRange(0), nullable_versions=VersionRange(12)),
            FieldSchema("topic_id", "uuid", VersionRange(10), is_ignorable=True),
            FieldSchema("is_internal", "bool", VersionRange(1), is_ignorable=True),
            FieldSchema(
                "partitions", "struct", VersionRange(0), struct=MetadataResponsePartition, is_array=True
            ),
            FieldSchema("topic_authorized_operations", "int32", VersionRange(8)),
        ),
    )


@message_part
class MetadataResponse(Message):
    """The brokers of the cluster and the topics that were asked for."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 3)
    """
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    """Every broker that is alive."""
    cluster_id: str | None = None
    """The cluster's id; null when the broker does not know it. (from version 2)"""
    controller_id: int = -1
    """Id of the broker to send controller requests to; -1 when there is none. (from version 1)"""
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    """One entry per topic asked for, with its error if it has one."""
    cluster_authorized_operations: int = -2147483648
    """Bit set of what the client may do to the cluster; the minimum int32 when it was not asked for.
    (versions 8 to 10)
    """
    error_code: int = 0
    """Error of the request as a whole, such as REBOOTSTRAP_REQUIRED. (from version 13)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="MetadataResponse",
        kind="response",
        api_key=3,
        valid_versions=VersionRange(0, 13),
        flexible_versions=VersionRange(9),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(3), is_ignorable=True),
            FieldSchema("brokers", "struct", VersionRange(0), struct=MetadataResponseBroker, is_array=True),
            FieldSchema(
                "cluster_id", "string", VersionRange(2), nullable_versions=VersionRange(2), is_ignorable=True
            ),
            FieldSchema("controller_id", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=MetadataResponseTopic, is_array=True),
            FieldSchema("cluster_authorized_operations", "int32", VersionRange(8, 10)),
            FieldSchema("error_code", "int16", VersionRange(13), is_ignorable=True),
        ),
    )
