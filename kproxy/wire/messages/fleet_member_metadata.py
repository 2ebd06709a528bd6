"""FleetMemberMetadata: version 0.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class FleetMemberMetadata(Message):
    """What a kproxy tells the leader of its fleet when it joins."""

    token: str = ""
    """Tells this process from every other, also from the one before it on the same host."""
    name: str = ""
    """The process in words for people."""
    host: str = ""
    """Where the others reach it."""
    port: int = 0
    """The port of its internal listener."""
    kproxy_version: str = ""
    """The version of kproxy that it runs, for people."""
    state_format_version: int = 0
    """The format of the state log that it reads and writes."""
    slot_count: int = 0
    """How many slots the state log has."""
    is_leaving: bool = False
    """Whether it is about to leave, and is to own nothing."""
    map_epoch: int = 0
    """The epoch of the map from which it has what it owns; -1 when it owns nothing."""
    seen_epoch: int = 0
    """The highest epoch that it knows of, from maps and from claims; -1 for none."""
    owned_slots: list[int] = field(default_factory=list)
    """The slots that it owns, in rising order."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FleetMemberMetadata",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("token", "string", VersionRange(0)),
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "uint16", VersionRange(0)),
            FieldSchema("kproxy_version", "string", VersionRange(0)),
            FieldSchema("state_format_version", "int16", VersionRange(0)),
            FieldSchema("slot_count", "int32", VersionRange(0)),
            FieldSchema("is_leaving", "bool", VersionRange(0)),
            FieldSchema("map_epoch", "int64", VersionRange(0)),
            FieldSchema("seen_epoch", "int64", VersionRange(0)),
            FieldSchema("owned_slots", "int32", VersionRange(0), is_array=True),
        ),
    )
