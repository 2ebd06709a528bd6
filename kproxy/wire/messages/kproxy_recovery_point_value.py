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
    owner: str = ""
    """The process that wrote this as a sign of life, as its claim names it; empty when it is none."""
    alive_at_ms: int = -1
    """When the owner wrote the sign of life, in milliseconds since the epoch; -1 when it is none."""
    has_left: bool = False
    """Whether the owner wrote it as the last thing before it ended: nobody serves from the log any more."""
    fleet_group: str = ""
    """The group of the fleet which the owner belongs to; empty when it is not said."""
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
            FieldSchema("owner", "string", VersionRange(0), tag=1, tagged_versions=VersionRange(0)),
            FieldSchema("alive_at_ms", "int64", VersionRange(0), tag=2, tagged_versions=VersionRange(0)),
            FieldSchema("has_left", "bool", VersionRange(0), tag=3, tagged_versions=VersionRange(0)),
            FieldSchema("fleet_group", "string", VersionRange(0), tag=4, tagged_versions=VersionRange(0)),
        ),
    )
