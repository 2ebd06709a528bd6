"""DescribeAclsResponse: versions 1 to 3.

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
class AclDescription(MessagePart):
    """An element of `DescribeAclsResource.acls`. The list."""

    principal: str = ""
    """Whom it is about."""
    host: str = ""
    """From where."""
    operation: int = 0
    """What is allowed or denied."""
    permission_type: int = 0
    """Allow or deny."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("principal", "string", VersionRange(0)),
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("operation", "int8", VersionRange(0)),
            FieldSchema("permission_type", "int8", VersionRange(0)),
        ),
    )


@message_part
class DescribeAclsResource(MessagePart):
    """An element of `DescribeAclsResponse.resources`. What the lists are about."""

    resource_type: int = 0
    """The type of resource."""
    resource_name: str = ""
    """The name, or what it begins with."""
    pattern_type: int = 3
    """How the name is to be read."""
    acls: list[AclDescription] = field(default_factory=list)
    """The list."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("resource_type", "int8", VersionRange(0)),
            FieldSchema("resource_name", "string", VersionRange(0)),
            FieldSchema("pattern_type", "int8", VersionRange(1)),
            FieldSchema("acls", "struct", VersionRange(0), struct=AclDescription, is_array=True),
        ),
    )


@message_part
class DescribeAclsResponse(Message):
    """The access control lists that match."""

    throttle_time_ms: int = 0
    """For how long a quota held the request back, in milliseconds."""
    error_code: int = 0
    """Why there are none, or 0."""
    error_message: str | None = ""
    """The same in words, or null."""
    resources: list[DescribeAclsResource] = field(default_factory=list)
    """What the lists are about."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeAclsResponse",
        kind="response",
        api_key=29,
        valid_versions=VersionRange(1, 3),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("resources", "struct", VersionRange(0), struct=DescribeAclsResource, is_array=True),
        ),
    )
