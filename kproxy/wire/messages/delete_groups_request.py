"""DeleteGroupsRequest: versions 0 to 3.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class DeleteGroupsRequest(Message):
    """Asks the coordinator of some groups to delete them."""

    groups_names: list[str] = field(default_factory=list)
    """The ids of the groups to delete."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DeleteGroupsRequest",
        kind="request",
        api_key=42,
        valid_versions=VersionRange(0, 3),
        flexible_versions=VersionRange(2),
        fields=(FieldSchema("groups_names", "string", VersionRange(0), is_array=True),),
    )
