"""HeartbeatResponse: versions 0 to 4.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class HeartbeatResponse(Message):
    """Whether the member is one, and whether it is to join anew."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all. (from
    version 1)
    """
    error_code: int = 0
    """NONE, or what the member is to do."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="HeartbeatResponse",
        kind="response",
        api_key=12,
        valid_versions=VersionRange(0, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
        ),
    )
