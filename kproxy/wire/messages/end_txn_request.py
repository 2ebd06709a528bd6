"""EndTxnRequest: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class EndTxnRequest(Message):
    """Commits or aborts a transaction."""

    transactional_id: str = ""
    """The transactional id."""
    producer_id: int = 0
    """The id of the producer."""
    producer_epoch: int = 0
    """The epoch that goes with it."""
    committed: bool = False
    """Whether it is committed; else it is aborted."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="EndTxnRequest",
        kind="request",
        api_key=26,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("transactional_id", "string", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(0)),
            FieldSchema("producer_epoch", "int16", VersionRange(0)),
            FieldSchema("committed", "bool", VersionRange(0)),
        ),
    )
