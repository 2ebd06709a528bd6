"""DescribeGroupsRequest: versions 0 to 6.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class DescribeGroupsRequest(Message):
    """Asks the coordinator of some groups about them, as classic groups."""

    groups: list[str] = field(default_factory=list)
    """The ids of the groups."""
    include_authorized_operations: bool = False
    """Whether to tell what the client may do. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeGroupsRequest",
        kind="request",
        api_key=15,
        valid_versions=VersionRange(0, 6),
        flexible_versions=VersionRange(5),
        fields=(
            FieldSchema("groups", "string", VersionRange(0), is_array=True),
            FieldSchema("include_authorized_operations", "bool", VersionRange(3)),
        ),
    )
