"""ListGroupsRequest: versions 0 to 5.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ListGroupsRequest(Message):
    """Asks a broker for the groups that it coordinates."""

    states_filter: list[str] = field(default_factory=list)
    """Names of group states, compared without case; empty asks for groups in every state. (from version 4)"""
    types_filter: list[str] = field(default_factory=list)
    """Names of group types, compared without case; empty asks for groups of every type. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListGroupsRequest",
        kind="request",
        api_key=16,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("states_filter", "string", VersionRange(4), is_array=True),
            FieldSchema("types_filter", "string", VersionRange(5), is_array=True),
        ),
    )
