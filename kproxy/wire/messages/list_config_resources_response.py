"""ListConfigResourcesResponse: versions 0 to 1.

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
class ConfigResource(MessagePart):
    """An element of `ListConfigResourcesResponse.config_resources`. One entry per resource."""

    resource_name: str = ""
    """The name of the resource."""
    resource_type: int = 16
    """The type of the resource: 16 is client metrics. (from version 1)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("resource_name", "string", VersionRange(0)),
            FieldSchema("resource_type", "int8", VersionRange(1), is_ignorable=True),
        ),
    )


@message_part
class ListConfigResourcesResponse(Message):
    """The resources that have configurations."""

    throttle_time_ms: int = 0
    """How long the broker delayed or asks the client to pause, in milliseconds, because a quota was
    exceeded.
    """
    error_code: int = 0
    """Why there is no list, 0 when there is one."""
    config_resources: list[ConfigResource] = field(default_factory=list)
    """One entry per resource."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ListConfigResourcesResponse",
        kind="response",
        api_key=74,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("config_resources", "struct", VersionRange(0), struct=ConfigResource, is_array=True),
        ),
    )
