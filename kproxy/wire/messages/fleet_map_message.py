"""FleetMapMessage: version 0.

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
class FleetMapMember(MessagePart):
    """An element of `FleetMapMessage.members`. All members, in the order of their ids."""

    member_id: str = ""
    """The id that the group's coordinator gave it."""
    token: str = ""
    """Tells the process from every other."""
    name: str = ""
    """The process in words for people."""
    host: str = ""
    """Where the others reach it; empty when it could not be read."""
    port: int = 0
    """The port of its internal listener; 0 when it could not be read."""
    is_leaving: bool = False
    """Whether it is about to leave."""
    refusal: str | None = None
    """Why it gets no slots; null when it may have some."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("token", "string", VersionRange(0)),
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "uint16", VersionRange(0)),
            FieldSchema("is_leaving", "bool", VersionRange(0)),
            FieldSchema("refusal", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class FleetMapMessage(Message):
    """The whole map of a fleet, as every member is told."""

    epoch: int = 0
    """The epoch of the map; higher than that of every map and claim which its members knew of."""
    members: list[FleetMapMember] = field(default_factory=list)
    """All members, in the order of their ids."""
    owners: list[int] = field(default_factory=list)
    """For each slot its owner's place among the members; -1 for none."""
    next_owners: list[int] = field(default_factory=list)
    """For each slot the place of the member that is to get it from its owner; -1 for none."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="FleetMapMessage",
        kind="data",
        api_key=None,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("epoch", "int64", VersionRange(0)),
            FieldSchema("members", "struct", VersionRange(0), struct=FleetMapMember, is_array=True),
            FieldSchema("owners", "int32", VersionRange(0), is_array=True),
            FieldSchema("next_owners", "int32", VersionRange(0), is_array=True),
        ),
    )
