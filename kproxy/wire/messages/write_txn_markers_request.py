"""WriteTxnMarkersRequest: versions 1 to 2.

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
class WritableTxnMarkerTopic(MessagePart):
    """An element of `WritableTxnMarker.topics`. The topics."""

    name: str = ""
    """The name of the topic."""
    partition_indexes: list[int] = field(default_factory=list)
    """The numbers of the partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("partition_indexes", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class WritableTxnMarker(MessagePart):
    """An element of `WriteTxnMarkersRequest.markers`. The markers."""

    producer_id: int = 0
    """The id of the producer."""
    producer_epoch: int = 0
    """The epoch that goes with it."""
    transaction_result: bool = False
    """Whether the transaction was committed; else it was aborted."""
    topics: list[WritableTxnMarkerTopic] = field(default_factory=list)
    """The topics."""
    coordinator_epoch: int = 0
    """The epoch of the transaction coordinator's partition."""
    transaction_version: int = 0
    """The version of the protocol of transactions that it was begun with. (from version 2)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema("producer_epoch", "int16", VersionRange(0)),
            FieldSchema("transaction_result", "bool", VersionRange(0)),
            FieldSchema("topics", "struct", VersionRange(0), struct=WritableTxnMarkerTopic, is_array=True),
            FieldSchema("coordinator_epoch", "int32", VersionRange(0)),
            FieldSchema("transaction_version", "int8", VersionRange(2), is_ignorable=True),
        ),
    )


@message_part
class WriteTxnMarkersRequest(Message):
    """Writes the markers that end transactions to their partitions."""

    markers: list[WritableTxnMarker] = field(default_factory=list)
    """The markers."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="WriteTxnMarkersRequest",
        kind="request",
        api_key=27,
        valid_versions=VersionRange(1, 2),
        flexible_versions=VersionRange(1),
        fields=(FieldSchema("markers", "struct", VersionRange(0), struct=WritableTxnMarker, is_array=True),),
    )
