"""KproxyClaimKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyClaimKey(Message):
    """Key of the record with which a kproxy claims a log partition; its offset is the claim epoch."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyClaimKey",
        kind="coordinator-key",
        api_key=27504,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(),
    )
