"""DescribeConfigsResponse: versions 1 to 4.

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
class DescribeConfigsSynonym(MessagePart):
    """An element of `DescribeConfigsResourceResult.synonyms`. All the places the value could come
    from, the one in force first.
    """

    name: str = ""
    """Name of the setting in that place."""
    value: str | None = ""
    """Its value there; null when it must not be shown."""
    source: int = 0
    """The place, coded as in ConfigSource."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(1)),
            FieldSchema("value", "string", VersionRange(1), nullable_versions=VersionRange(0)),
            FieldSchema("source", "int8", VersionRange(1)),
        ),
    )


@message_part
class DescribeConfigsResourceResult(MessagePart):
    """An element of `DescribeConfigsResult.configs`. One entry per setting."""

    name: str = ""
    """Name of the setting."""
    value: str | None = ""
    """Its value; null when it has none or must not be shown."""
    read_only: bool = False
    """Whether it cannot be changed while running."""
    config_source: int = -1
    """Where the value comes from: 1 topic, 2 this broker, 3 all brokers, 4 broker's file, 5 default, 8
    group; -1 unknown.
    """
    is_sensitive: bool = False
    """Whether the value is a secret."""
    synonyms: list[DescribeConfigsSynonym] = field(default_factory=list)
    """All the places the value could come from, the one in force first."""
    config_type: int = 0
    """Type of the value: 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9
    password; 0 unknown. (from version 3)
    """
    documentation: str | None = ""
    """What the setting does; null when it was not asked for. (from version 3)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("value", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("read_only", "bool", VersionRange(0)),
            FieldSchema("config_source", "int8", VersionRange(1), is_ignorable=True),
            FieldSchema("is_sensitive", "bool", VersionRange(0)),
            FieldSchema(
                "synonyms",
                "struct",
                VersionRange(1),
                struct=DescribeConfigsSynonym,
                is_array=True,
                is_ignorable=True,
            ),
            FieldSchema("config_type", "int8", VersionRange(3), is_ignorable=True),
            FieldSchema(
                "documentation",
                "string",
                VersionRange(3),
                nullable_versions=VersionRange(0),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class DescribeConfigsResult(MessagePart):
    """An element of `DescribeConfigsResponse.results`. One entry per resource."""

    error_code: int = 0
    """NONE, or why the resource cannot be described."""
    error_message: str | None = ""
    """The error in words; null when there is none."""
    resource_type: int = 0
    """Kind of the resource, as in the request."""
    resource_name: str = ""
    """Its name, as in the request."""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)
    """One entry per setting."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("resource_type", "int8", VersionRange(0)),
            FieldSchema("resource_name", "string", VersionRange(0)),
            FieldSchema(
                "configs", "struct", VersionRange(0), struct=DescribeConfigsResourceResult, is_array=True
            ),
        ),
    )


@message_part
class DescribeConfigsResponse(Message):
    """The settings that were asked for."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    results: list[DescribeConfigsResult] = field(default_factory=list)
    """One entry per resource."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="DescribeConfigsResponse",
        kind="response",
        api_key=32,
        valid_versions=VersionRange(1, 4),
        flexible_versions=VersionRange(4),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("results", "struct", VersionRange(0), struct=DescribeConfigsResult, is_array=True),
        ),
    )
