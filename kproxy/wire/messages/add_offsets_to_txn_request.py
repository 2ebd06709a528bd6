"""AddOffsetsToTxnRequest: versions 0 to 4.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class AddOffsetsToTxnRequest(Message):
    """Adds the offsets of a group to a transaction."""

    transactional_id: str = ""
    """The transactional id."""
    producer_id: int = 0
    """The id of the producer."""
    producer_epoch: int = 0
    """The epoch that goes with it."""
    group_id: str = ""
    """The id of the group."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AddOffsetsToTxnRequest",
        kind="request",
        api_key=25,
        valid_versions=VersionRange(0, 4),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema("producer_epoch", "int16", VersionRange(0)),
            FieldSchema("group_id", "string", VersionRange(0)),
        ),
    )
