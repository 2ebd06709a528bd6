"""SaslHandshakeRequest: versions 0 to 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class SaslHandshakeRequest(Message):
    """Chooses how to authenticate. After version 0 raw tokens follow that are no Kafka requests."""

    mechanism: str = ""
    """The mechanism, such as PLAIN or SCRAM-SHA-512."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="SaslHandshakeRequest",
        kind="request",
        api_key=17,
        valid_versions=VersionRange(0, 1),
        flexible_versions=None,
        fields=(FieldSchema("mechanism", "string", VersionRange(0)),),
    )
