"""KproxyRecoveryPointValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyRecoveryPointValue(Message):
    """Where replay of the state topic's partition begins."""

    offset: int = 0
    """The lowest offset that is still needed."""
    applied_offset: int = -1
    """The last offset that was durable when this was written; -1 when it is not said."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyRecoveryPointValue",
        kind="coordinator-value",
        api_key=27506,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("offset", "int64", VersionRange(0)),
            FieldSchema("applied_offset", "int64", VersionRange(0), tag=0, tagged_versions=VersionRange(0)),
        ),
    )
