"""KproxyGroupConfigsKey: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyGroupConfigsKey(Message):
    """Key of the record with the configurations of one share group."""

    group_id: str = ""
    """The share group."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyGroupConfigsKey",
        kind="coordinator-key",
        api_key=27505,
        valid_versions=VersionRange(0, 0),
        flexible_versions=None,
        fields=(FieldSchema("group_id", "string", VersionRange(0, 0)),),
    )
