"""DescribeAclsRequest: versions 1 to 3.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from typing import ClassVar

from kproxy.wire.message_schema import FieldSchema, Message, MessageSchema, VersionRange, message_part


@message_part
class DescribeAclsRequest(Message):
    """Asks for the access control lists that match a filter."""

    resource_type_filter: int = 0
    """The type of resource, or any."""
    resource_name_filter: str | None = ""
    """The name of the resource; null for every name."""
    pattern_type_filter: int = 3
    """The type of pattern."""
    principal_filter: str | None = ""
    """The principal; null for every one."""
    host_filter: str | None = ""
    """The host; null for every one."""
    operation: int = 0
    """The operation."""
    permission_type: int = 0
    """Allow, deny or any."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeAclsRequest",
        kind="request",
        api_key=29,
        valid_versions=VersionRange(1, 3),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("resource_type_filter", "int8", VersionRange(0)),
            FieldSchema("resource_name_filter", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("pattern_type_filter", "int8", VersionRange(1)),
            FieldSchema("principal_filter", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("host_filter", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("operation", "int8", VersionRange(0)),
            FieldSchema("permission_type", "int8", VersionRange(0)),
        ),
    )
