"""DescribeConfigsRequest: versions 1 to 4.

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
class DescribeConfigsResource(MessagePart):
    """An element of `DescribeConfigsRequest.resources`. What to describe."""

    resource_type: int = 0
    """Kind of the resource: 2 topic, 4 broker, 8 broker loggers, 16 client metrics, 32 group."""
    resource_name: str = ""
    """Its name, such as the topic or the group id."""
    configuration_keys: list[str] | None = field(default_factory=list)
    """Names of the settings wanted; null asks for all."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("resource_type", "int8", VersionRange(0)),
            FieldSchema("resource_name", "string", VersionRange(0)),
            FieldSchema(
                "configuration_keys",
                "string",
                VersionRange(0),
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )


@message_part
class DescribeConfigsRequest(Message):
    """Asks for settings of topics, brokers, groups or clients."""

    resources: list[DescribeConfigsResource] = field(default_factory=list)
    """What to describe."""
    include_synonyms: bool = False
    """Whether to list where else each setting could come from."""
    include_documentation: bool = False
    """Whether to explain each setting. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeConfigsRequest",
        kind="request",
        api_key=32,
        valid_versions=VersionRange(1, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema(
                "resources", "struct", VersionRange(0), struct=DescribeConfigsResource, is_array=True
            ),
            FieldSchema("include_synonyms", "bool", VersionRange(1)),
            FieldSchema("include_documentation", "bool", VersionRange(3)),
        ),
    )
