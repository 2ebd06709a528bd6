"""ShareAcknowledgeRequest: versions 1 to 2.

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
    """An element of `AcknowledgePartition.acknowledgement_batches`. What became of the records, in
    rising offsets.
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
class AcknowledgePartition(MessagePart):
    """An element of `AcknowledgeTopic.partitions`. The acknowledgements, by partition."""

    partition_index: int = 0
    """The partition."""
    acknowledgement_batches: list[AcknowledgementBatch] = field(default_factory=list)
    """What became of the records, in rising offsets."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
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
class AcknowledgeTopic(MessagePart):
    """An element of `ShareAcknowledgeRequest.topics`. The acknowledgements, by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[AcknowledgePartition] = field(default_factory=list)
    """The acknowledgements, by partition."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "struct", VersionRange(0), struct=AcknowledgePartition, is_array=True),
        ),
    )


@message_part
class ShareAcknowledgeRequest(Message):
    """Tells the leaders what became of acquired records (KIP-932)."""

    group_id: str | None = None
    """The share group."""
    member_id: str | None = ""
    """The member that holds the records."""
    share_session_epoch: int = 0
    """Counts the requests of the share session; -1 closes it and releases what the member still holds."""
    is_renew_ack: bool = False
    """Whether acknowledgements in here renew acquisition locks. (from version 2)"""
    topics: list[AcknowledgeTopic] = field(default_factory=list)
    """The acknowledgements, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareAcknowledgeRequest",
        kind="request",
        api_key=79,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("share_session_epoch", "int32", VersionRange(0)),
            FieldSchema("is_renew_ack", "bool", VersionRange(2)),
            FieldSchema("topics", "struct", VersionRange(0), struct=AcknowledgeTopic, is_array=True),
        ),
    )
