"""PeerProof: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class PeerProof(Message):
    """What the process that dials answers to a PeerChallenge."""

    proof: bytes = b""
    """That it knows the secret: HMAC-SHA256."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="PeerProof",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(FieldSchema("proof", "bytes", VersionRange(0)),),
    )
