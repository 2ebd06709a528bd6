"""PeerChallenge: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class PeerChallenge(Message):
    """What a listener with a secret answers to a PeerHello."""

    token: str = ""
    """Tells the process that listens from every other."""
    name: str = ""
    """The process that listens in words for people."""
    nonce: bytes = b""
    """Bytes that nobody used before."""
    proof: bytes = b""
    """That the process that listens knows the secret: HMAC-SHA256."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="PeerChallenge",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("token", "string", VersionRange(0)),
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("nonce", "bytes", VersionRange(0)),
            FieldSchema("proof", "bytes", VersionRange(0)),
        ),
    )
