"""IncrementalAlterConfigsResponse: versions 0 to 1.

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
class AlterConfigsResourceResponse(MessagePart):
    """An element of `IncrementalAlterConfigsResponse.responses`. One entry per resource."""

    error_code: int = 0
    """NONE, or why nothing of this resource was changed."""
    error_message: str | None = ""
    """The error in words; null when there is none."""
    resource_type: int = 0
    """Kind of the resource, as in the request."""
    resource_name: str = ""
    """Its name, as in the request."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("resource_type", "int8", VersionRange(0)),
            FieldSchema("resource_name", "string", VersionRange(0)),
        ),
    )


@message_part
class IncrementalAlterConfigsResponse(Message):
    """Which changes of settings were accepted."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
    """One entry per resource."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="IncrementalAlterConfigsResponse",
        kind="response",
        api_key=44,
        valid_versions=VersionRange(0, 1),
        flexible_versions=VersionRange(1),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema(
                "responses", "struct", VersionRange(0), struct=AlterConfigsResourceResponse, is_array=True
            ),
        ),
    )
