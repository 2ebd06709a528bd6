"""SaslAuthenticateRequest: versions 0 to 2.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class SaslAuthenticateRequest(Message):
    """Carries one token of the SASL conversation from the client."""

    auth_bytes: bytes = b""
    """The token, as the mechanism defines it. Secret."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SaslAuthenticateRequest",
        kind="request",
        api_key=36,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(2),
        fields=(FieldSchema("auth_bytes", "bytes", VersionRange(0)),),
    )
