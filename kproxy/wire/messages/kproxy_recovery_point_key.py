"""KproxyRecoveryPointKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyRecoveryPointKey(Message):
    """Key of the record that says where replay of the state topic's partition of the same number begins."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyRecoveryPointKey",
        kind="coordinator-key",
        api_key=27506,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(),
    )
