"""KproxyGroupConfigsValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class GroupConfig(MessagePart):
    """An element of `KproxyGroupConfigsValue.configs`. Those that differ from the defaults, by rising key."""

    key: str = ""
    """The configuration's key, such as share.auto.offset.reset."""
    value: str = ""
    """Its value, as it was set."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("key", "string", VersionRange(0)),
            FieldSchema("value", "string", VersionRange(0)),
        ),
    )


@message_part
class KproxyGroupConfigsValue(Message):
    """The configurations that were set for a share group."""

    configs: list[GroupConfig] = field(default_factory=list)
    """Those that differ from the defaults, by rising key."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyGroupConfigsValue",
        kind="coordinator-value",
        api_key=27505,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(FieldSchema("configs", "struct", VersionRange(0), struct=GroupConfig, is_array=True),),
    )
