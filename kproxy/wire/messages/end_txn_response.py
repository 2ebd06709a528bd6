"""EndTxnResponse: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class EndTxnResponse(Message):
    """Whether it ends, and as whom the producer goes on."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    error_code: int = 0
    """What went wrong, or 0."""
    producer_id: int = -1
    """The id of the producer. (from version 5)"""
    producer_epoch: int = -1
    """The epoch that goes with it. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="EndTxnResponse",
        kind="response",
        api_key=26,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("producer_id", "int64", VersionRange(5), is_ignorable=True),
            FieldSchema("producer_epoch", "int16", VersionRange(5), is_ignorable=True),
        ),
    )
