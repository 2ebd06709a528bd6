"""AddPartitionsToTxnRequest: versions 0 to 5.

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
class AddPartitionsToTxnTopic(MessagePart):
    """An element of `AddPartitionsToTxnRequest.v3_and_below_topics` and an element of
    `AddPartitionsToTxnTransaction.topics`. The topics.
    """

    name: str = ""
    """The name of the topic."""
    partitions: list[int] = field(default_factory=list)
    """The numbers of the partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class AddPartitionsToTxnTransaction(MessagePart):
    """An element of `AddPartitionsToTxnRequest.transactions`. The transactions, of brokers that verify
    several at once.
    """

    transactional_id: str = ""
    """The transactional id. (from version 4)"""
    producer_id: int = 0
    """The id of the producer. (from version 4)"""
    producer_epoch: int = 0
    """The epoch that goes with it. (from version 4)"""
    verify_only: bool = False
    """Whether to ask only if the partitions are part of the transaction. (from version 4)"""
    topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)
    """The topics. (from version 4)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(4)),
            FieldSchema("producer_id", "int64", VersionRange(4)),
            FieldSchema("producer_epoch", "int16", VersionRange(4)),
            FieldSchema("verify_only", "bool", VersionRange(4)),
            FieldSchema("topics", "struct", VersionRange(4), struct=AddPartitionsToTxnTopic, is_array=True),
        ),
    )


@message_part
class AddPartitionsToTxnRequest(Message):
    """Adds partitions to a transaction, before records are written to them."""

    transactions: list[AddPartitionsToTxnTransaction] = field(default_factory=list)
    """The transactions, of brokers that verify several at once. (from version 4)"""
    v3_and_below_transactional_id: str = ""
    """The transactional id. (versions 0 to 3)"""
    v3_and_below_producer_id: int = 0
    """The id of the producer. (versions 0 to 3)"""
    v3_and_below_producer_epoch: int = 0
    """The epoch that goes with it. (versions 0 to 3)"""
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field(default_factory=list)
    """The topics. (versions 0 to 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AddPartitionsToTxnRequest",
        kind="request",
        api_key=24,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema(
                "transactions", "struct", VersionRange(4), struct=AddPartitionsToTxnTransaction, is_array=True
            ),
            FieldSchema("v3_and_below_transactional_id", "string", VersionRange(0, 3)),
            FieldSchema("v3_and_below_producer_id", "int64", VersionRange(0, 3)),
            FieldSchema("v3_and_below_producer_epoch", "int16", VersionRange(0, 3)),
            FieldSchema(
                "v3_and_below_topics",
                "struct",
                VersionRange(0, 3),
                struct=AddPartitionsToTxnTopic,
                is_array=True,
            ),
        ),
    )
