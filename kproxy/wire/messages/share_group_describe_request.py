"""ShareGroupDescribeRequest: version 1.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class ShareGroupDescribeRequest(Message):
    """Asks the group coordinator for the members of share groups."""

    group_ids: list[str] = field(default_factory=list)
    """The share groups to describe."""
    include_authorized_operations: bool = False
    """Whether to say what the client may do to each group."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupDescribeRequest",
        kind="request",
        api_key=77,
        valid_versions=VersionRange(1, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_ids", "string", VersionRange(0), is_array=True),
            FieldSchema("include_authorized_operations", "bool", VersionRange(0)),
        ),
    )
