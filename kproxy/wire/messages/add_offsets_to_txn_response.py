"""AddOffsetsToTxnResponse: versions 0 to 4.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class AddOffsetsToTxnResponse(Message):
    """Whether they are part of it now."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    error_code: int = 0
    """What went wrong, or 0."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AddOffsetsToTxnResponse",
        kind="response",
        api_key=25,
        valid_versions=VersionRange(0, 4),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )
