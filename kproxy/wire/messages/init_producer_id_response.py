"""InitProducerIdResponse: versions 0 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class InitProducerIdResponse(Message):
    """The producer id and epoch to write with."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """NONE, or why there is no producer id."""
    producer_id: int = -1
    """The producer id; -1 with an error."""
    producer_epoch: int = 0
    """The epoch to write with."""
    ongoing_txn_producer_id: int = -1
    """Producer id of a transaction that is still open; -1 when there is none. (from version 6)"""
    ongoing_txn_producer_epoch: int = -1
    """Epoch of that transaction; -1 when there is none. (from version 6)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="InitProducerIdResponse",
        kind="response",
        api_key=22,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema("producer_epoch", "int16", VersionRange(0)),
            FieldSchema("ongoing_txn_producer_id", "int64", VersionRange(6)),
            FieldSchema("ongoing_txn_producer_epoch", "int16", VersionRange(6)),
        ),
    )
