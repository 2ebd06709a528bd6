"""KproxyClaimValue: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class KproxyClaimValue(Message):
    """Who claims the log partition, and in which format it writes."""

    owner: str = ""
    """The process that claims it, in words for people."""
    format_version: int = 0
    """Format of the records that follow the claim; 1 has each share-partition in the partition of its
    own hash, 2 in that of its group.
    """
    map_epoch: int = -1
    """The epoch of the map that gave the partition to the process; -1 when there was none."""
    fleet_group: str = ""
    """The group of the fleet which the process belongs to; empty when it is not said."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="KproxyClaimValue",
        kind="coordinator-value",
        api_key=27504,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("owner", "string", VersionRange(0)),
            FieldSchema("format_version", "int16", VersionRange(0)),
            FieldSchema("map_epoch", "int64", VersionRange(0), tag=0, tagged_versions=VersionRange(0)),
            FieldSchema("fleet_group", "string", VersionRange(0), tag=1, tagged_versions=VersionRange(0)),
        ),
    )
