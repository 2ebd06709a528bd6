"""KproxyStateTopicFactsKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyStateTopicFactsKey(Message):
    """Key of the record with what may never change about the state topics."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyStateTopicFactsKey",
        kind="coordinator-key",
        api_key=27507,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(),
    )
