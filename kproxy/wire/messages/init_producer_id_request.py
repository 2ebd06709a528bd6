"""InitProducerIdRequest: versions 0 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class InitProducerIdRequest(Message):
    """Gets a producer id; with a transactional id it also fences the older owner by raising the epoch."""

    transactional_id: str | None = ""
    """The transactional id; null for a producer that is only idempotent."""
    transaction_timeout_ms: int = 0
    """After how long an open transaction is aborted by the coordinator."""
    producer_id: int = -1
    """The id the producer has already; -1 when it has none. (from version 3)"""
    producer_epoch: int = -1
    """The epoch that goes with it; -1 when it has none. (from version 3)"""
    enable2_pc: bool = False
    """Whether the producer takes part in two-phase commit, so that its transactions never time out.
    (from version 6)
    """
    keep_prepared_txn: bool = False
    """Whether an open transaction stays as it is instead of being aborted. (from version 6)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="InitProducerIdRequest",
        kind="request",
        api_key=22,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("transaction_timeout_ms", "int32", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(3)),
            FieldSchema("producer_epoch", "int16", VersionRange(3)),
            FieldSchema("enable2_pc", "bool", VersionRange(6)),
            FieldSchema("keep_prepared_txn", "bool", VersionRange(6)),
        ),
    )
