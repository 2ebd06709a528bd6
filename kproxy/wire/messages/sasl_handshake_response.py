"""SaslHandshakeResponse: versions 0 to 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class SaslHandshakeResponse(Message):
    """Whether the mechanism is accepted."""

    error_code: int = 0
    """NONE, or UNSUPPORTED_SASL_MECHANISM."""
    mechanisms: list[str] = field(default_factory=list)
    """The mechanisms the broker would accept."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SaslHandshakeResponse",
        kind="response",
        api_key=17,
        valid_versions=VersionRange(0, 1),
        flexible_versions=None,
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("mechanisms", "string", VersionRange(0), is_array=True),
        ),
    )
