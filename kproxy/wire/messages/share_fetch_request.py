"""ShareFetchRequest: versions 1 to 2.

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
class AcknowledgementBatch(MessagePart):
    """An element of `FetchPartition.acknowledgement_batches`. What became of records the member
    acquired earlier.
    """

    first_offset: int = 0
    """First offset of the batch, inclusive."""
    last_offset: int = 0
    """Last offset of the batch, inclusive."""
    acknowledge_types: list[int] = field(default_factory=list)
    """One type for the whole batch or one for each of its offsets: 0 gap, 1 accept, 2 release, 3
    reject, 4 renew (version 2).
    """
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("first_offset", "int64", VersionRange(0)),
            FieldSchema("last_offset", "int64", VersionRange(0)),
            FieldSchema("acknowledge_types", "int8", VersionRange(0), is_array=True),
        ),
    )


@message_part
class FetchPartition(MessagePart):
    """An element of `FetchTopic.partitions`. The partitions of the topic."""

    partition_index: int = 0
    """The partition."""
    partition_max_bytes: int = 0
    """About how much this partition may add to the answer; version 0 only. (version 0)"""
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)
    """What became of records the member acquired earlier."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("partition_max_bytes", "int32", VersionRange(0, 0)),
            FieldSchema(
                "acknowledgement_batches",
                "struct",
                VersionRange(0),
                struct=AcknowledgementBatch,
                is_array=True,
            ),
        ),
    )


@message_part
class FetchTopic(MessagePart):
    """An element of `ShareFetchRequest.topics`. Partitions that join the session or carry
    acknowledgements.
    """

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[FetchPartition] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=FetchPartition, is_array=True),
        ),
    )


@message_part
class ForgottenTopic(MessagePart):
    """An element of `ShareFetchRequest.forgotten_topics_data`. Partitions that leave the session."""

    topic_id: bytes = ZERO_UUID
    """Id of the topic to leave out."""
    partitions: list[int] = field(default_factory=list)
    """Partitions to leave out."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class ShareFetchRequest(Message):
    """Acquires records of a share group from the leader of their partitions, and acknowledges earlier
    ones along the way (KIP-932).
    """

    group_id: str | None = None
    """The share group."""
    member_id: str | None = ""
    """The member that will hold the records."""
    share_session_epoch: int = 0
    """Counts the requests of the share session; 0 opens it, -1 closes it and releases what the member
    holds.
    """
    max_wait_ms: int = 0
    """How long the answer may wait for records."""
    min_bytes: int = 0
    """How much must be there before the answer, unless the wait is over."""
    max_bytes: int = 2147483647
    """About how much the whole answer may hold."""
    max_records: int = 0
    """How many records may be acquired; exceeded to end on a batch boundary unless ShareAcquireMode
    forbids it.
    """
    batch_size: int = 0
    """How many records a batch of acquired records may span at most."""
    share_acquire_mode: int = 0
    """0 acquires whole record batches, 1 never acquires more than MaxRecords. (from version 2)"""
    is_renew_ack: bool = False
    """Whether acknowledgements in here renew acquisition locks; nothing is fetched then. (from version 2)"""
    topics: list[FetchTopic] = field(default_factory=list)
    """Partitions that join the session or carry acknowledgements."""
    forgotten_topics_data: list[ForgottenTopic] = field(default_factory=list)
    """Partitions that leave the session."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareFetchRequest",
        kind="request",
        api_key=78,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("share_session_epoch", "int32", VersionRange(0)),
            FieldSchema("max_wait_ms", "int32", VersionRange(0)),
            FieldSchema("min_bytes", "int32", VersionRange(0)),
            FieldSchema("max_bytes", "int32", VersionRange(0)),
            FieldSchema("max_records", "int32", VersionRange(1)),
            FieldSchema("batch_size", "int32", VersionRange(1)),
            FieldSchema("share_acquire_mode", "int8", VersionRange(2), is_ignorable=True),
            FieldSchema("is_renew_ack", "bool", VersionRange(2)),
            FieldSchema("topics", "struct", VersionRange(0), struct=FetchTopic, is_array=True),
            FieldSchema(
                "forgotten_topics_data", "struct", VersionRange(0), struct=ForgottenTopic, is_array=True
            ),
        ),
    )
