"""SaslAuthenticateResponse: versions 0 to 2.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class SaslAuthenticateResponse(Message):
    """Carries one token of the SASL conversation from the broker."""

    error_code: int = 0
    """NONE, or why authentication failed."""
    error_message: str | None = ""
    """The error in words; null when there is none."""
    auth_bytes: bytes = b""
    """The token, as the mechanism defines it. Secret."""
    session_lifetime_ms: int = 0
    """After how long the client must authenticate again; 0 for never. (from version 1)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SaslAuthenticateResponse",
        kind="response",
        api_key=36,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("auth_bytes", "bytes", VersionRange(0)),
            FieldSchema("session_lifetime_ms", "int64", VersionRange(1), is_ignorable=True),
        ),
    )
