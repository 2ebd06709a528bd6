"""ListGroupsResponse: versions 0 to 5.

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
class ListedGroup(MessagePart):
    """An element of `ListGroupsResponse.groups`. One entry per group."""

    group_id: str = ""
    """The id of the group."""
    protocol_type: str = ""
    """What the members use the group for, such as consumer or share."""
    group_state: str = ""
    """The name of the group's state. (from version 4)"""
    group_type: str = ""
    """The name of the group's type, such as classic, consumer or share. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("protocol_type", "string", VersionRange(0)),
            FieldSchema("group_state", "string", VersionRange(4), is_ignorable=True),
            FieldSchema("group_type", "string", VersionRange(5), is_ignorable=True),
        ),
    )


@message_part
class ListGroupsResponse(Message):
    """The groups that this broker coordinates."""

    throttle_time_ms: int = 0
    """How long the broker delayed or asks the client to pause, in milliseconds, because a quota was
    exceeded. (from version 1)
    """
    error_code: int = 0
    """Why there is no list, 0 when there is one."""
    groups: list[ListedGroup] = field(default_factory=list)
    """One entry per group."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListGroupsResponse",
        kind="response",
        api_key=16,
        valid_versions=VersionRange(0, 5),
        flexible_versions=VersionRange(3),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(1), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("groups", "struct", VersionRange(0), struct=ListedGroup, is_array=True),
        ),
    )
