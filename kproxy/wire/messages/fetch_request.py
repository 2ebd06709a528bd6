"""FetchRequest: versions 4 to 18.

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
class ReplicaState(MessagePart):
    """The value of `FetchRequest.replica_state`. The replica that reads, from version 15."""

    replica_id: int = -1
    """Id of the replica; -1 for a consumer. (from version 15)"""
    replica_epoch: int = -1
    """Epoch of the replica's broker; -1 when unknown. (from version 15)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("replica_id", "int32", VersionRange(15)),
            FieldSchema("replica_epoch", "int64", VersionRange(15)),
        ),
    )


@message_part
class FetchPartition(MessagePart):
    """An element of `FetchTopic.partitions`. The partitions of the topic."""

    partition: int = 0
    """The partition."""
    current_leader_epoch: int = -1
    """Leader epoch the reader believes in, checked by the broker; -1 skips the check. (from version 9)"""
    fetch_offset: int = 0
    """First offset wanted."""
    last_fetched_epoch: int = -1
    """Leader epoch of the last record the follower has; -1 when it has none. (from version 12)"""
    log_start_offset: int = -1
    """First offset the follower has; -1 for a consumer. (from version 5)"""
    partition_max_bytes: int = 0
    """About how much this partition may add to the answer."""
    replica_directory_id: bytes = ZERO_UUID
    """Id of the log directory of the follower. (from version 17)"""
    high_watermark: int = 9223372036854775807
    """The high watermark the follower knows; the largest int64 when it does not say. (from version 18)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("current_leader_epoch", "int32", VersionRange(9), is_ignorable=True),
            FieldSchema("fetch_offset", "int64", VersionRange(0)),
            FieldSchema("last_fetched_epoch", "int32", VersionRange(12)),
            FieldSchema("log_start_offset", "int64", VersionRange(5), is_ignorable=True),
            FieldSchema("partition_max_bytes", "int32", VersionRange(0)),
            FieldSchema(
                "replica_directory_id",
                "uuid",
                VersionRange(17),
                tag=0,
                tagged_versions=VersionRange(17),
                is_ignorable=True,
            ),
            FieldSchema(
                "high_watermark",
                "int64",
                VersionRange(18),
                tag=1,
                tagged_versions=VersionRange(18),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class FetchTopic(MessagePart):
    """An element of `FetchRequest.topics`. Partitions to read, or those that changed when a session is
    open.
    """

    topic: str = ""
    """The topic's name. (versions 0 to 12)"""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 13)"""
    partitions: list[FetchPartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(0, 12), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(13), is_ignorable=True),
            FieldSchema("partitions", "struct", VersionRange(0), struct=FetchPartition, is_array=True),
        ),
    )


@message_part
class ForgottenTopic(MessagePart):
    """An element of `FetchRequest.forgotten_topics_data`. Partitions that leave the session."""

    topic: str = ""
    """Name of the topic to leave out. (versions 7 to 12)"""
    topic_id: bytes = ZERO_UUID
    """Id of the topic to leave out. (from version 13)"""
    partitions: list[int] = field(default_factory=list)
    """Partitions to leave out. (from version 7)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(7, 12), is_ignorable=True),
            FieldSchema("topic_id", "uuid", VersionRange(13), is_ignorable=True),
            FieldSchema("partitions", "int32", VersionRange(7), is_array=True),
        ),
    )


@message_part
class FetchRequest(Message):
    """Reads record batches from partitions; also how replicas follow their leader."""

    cluster_id: str | None = None
    """The cluster the reader believes to be in; null when it does not check. (from version 12)"""
    replica_id: int = -1
    """The replica that reads; -1 for a consumer. (versions 0 to 14)"""
    replica_state: ReplicaState = field(default_factory=ReplicaState)
    """The replica that reads, from version 15. (from version 15)"""
    max_wait_ms: int = 0
    """How long the broker may wait for MinBytes to be there."""
    min_bytes: int = 0
    """How much must be there before the answer, unless the wait is over."""
    max_bytes: int = 2147483647
    """About how much the whole answer may hold; the first batch is sent even if it is larger."""
    isolation_level: int = 0
    """0 reads everything, 1 leaves out records of open and aborted transactions."""
    session_id: int = 0
    """The fetch session; 0 opens one or does without. (from version 7)"""
    session_epoch: int = -1
    """Counts the requests of a session; 0 opens one, -1 does without. (from version 7)"""
    topics: list[FetchTopic] = field(default_factory=list)
    """Partitions to read, or those that changed when a session is open."""
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)
    """Partitions that leave the session. (from version 7)"""
    rack_id: str = ""
    """The consumer's rack, so that it can be sent to a replica nearby; empty when it does not care.
    (from version 11)
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FetchRequest",
        kind="request",
        api_key=1,
        valid_versions=VersionRange(4, 18),
        flexible_versions=VersionRange(12),
        fields=(
            FieldSchema(
                "cluster_id",
                "string",
                VersionRange(12),
                nullable_versions=VersionRange(12),
                tag=0,
                tagged_versions=VersionRange(12),
                is_ignorable=True,
            ),
            FieldSchema("replica_id", "int32", VersionRange(0, 14)),
            FieldSchema(
                "replica_state",
                "struct",
                VersionRange(15),
                struct=ReplicaState,
                tag=1,
                tagged_versions=VersionRange(15),
            ),
            FieldSchema("max_wait_ms", "int32", VersionRange(0)),
            FieldSchema("min_bytes", "int32", VersionRange(0)),
            FieldSchema("max_bytes", "int32", VersionRange(3), is_ignorable=True),
            FieldSchema("isolation_level", "int8", VersionRange(4), is_ignorable=True),
            FieldSchema("session_id", "int32", VersionRange(7), is_ignorable=True),
            FieldSchema("session_epoch", "int32", VersionRange(7), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=FetchTopic, is_array=True),
            FieldSchema(
                "forgotten_topics_data", "struct", VersionRange(7), struct=ForgottenTopic, is_array=True
            ),
            FieldSchema("rack_id", "string", VersionRange(11), is_ignorable=True),
        ),
    )
