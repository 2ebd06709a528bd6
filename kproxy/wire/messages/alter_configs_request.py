"""AlterConfigsRequest: versions 0 to 2.

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
class AlterableConfig(MessagePart):
    """An element of `AlterConfigsResource.configs`. All settings that the resource is to have."""

    name: str = ""
    """Name of the setting."""
    value: str | None = ""
    """The value."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("value", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class AlterConfigsResource(MessagePart):
    """An element of `AlterConfigsRequest.resources`. What to change."""

    resource_type: int = 0
    """Kind of the resource: 2 topic, 4 broker, 8 broker loggers, 16 client metrics, 32 group."""
    resource_name: str = ""
    """Its name, such as the topic or the group id."""
    configs: list[AlterableConfig] = field(default_factory=list)
    """All settings that the resource is to have."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("resource_type", "int8", VersionRange(0)),
            FieldSchema("resource_name", "string", VersionRange(0)),
            FieldSchema("configs", "struct", VersionRange(0), struct=AlterableConfig, is_array=True),
        ),
    )


@message_part
class AlterConfigsRequest(Message):
    """Sets all settings of topics, brokers, groups or clients: what is not named goes back to its default."""

    resources: list[AlterConfigsResource] = field(default_factory=list)
    """What to change."""
    validate_only: bool = False
    """Whether to check only and change nothing."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="AlterConfigsRequest",
        kind="request",
        api_key=33,
        valid_versions=VersionRange(0, 2),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("resources", "struct", VersionRange(0), struct=AlterConfigsResource, is_array=True),
            FieldSchema("validate_only", "bool", VersionRange(0)),
        ),
    )
