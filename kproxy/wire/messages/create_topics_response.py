"""CreateTopicsResponse: versions 2 to 7.

Generated from `schemas/` by `make generate`; not edited by hand.
"""

from dataclasses import field
from typing import ClassVar

from kproxy.wire.message_schema import (
    ZERO_UUID,
    FieldSchema,
    Message,
    MessagePart,
    MessageSchema,
    StructSchema,
    VersionRange,
    message_part,
)


@message_part
class CreatableTopicConfigs(MessagePart):
    """An element of `CreatableTopicResult.configs`. The settings of the topic; null when they are not
    shown.
    """

    name: str = ""
    """The setting's key. (from version 5)"""
    value: str | None = ""
    """Its value. (from version 5)"""
    read_only: bool = False
    """Whether it cannot be changed. (from version 5)"""
    config_source: int = -1
    """Where the value comes from. (from version 5)"""
    is_sensitive: bool = False
    """Whether the value is kept secret. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(5)),
            FieldSchema("value", "string", VersionRange(5), nullable_versions=VersionRange(5)),
            FieldSchema("read_only", "bool", VersionRange(5)),
            FieldSchema("config_source", "int8", VersionRange(5), is_ignorable=True),
            FieldSchema("is_sensitive", "bool", VersionRange(5)),
        ),
    )


@message_part
class CreatableTopicResult(MessagePart):
    """An element of `CreateTopicsResponse.topics`. Results by topic."""

    name: str = ""
    """The topic's name."""
    topic_id: bytes = ZERO_UUID
    """The topic's id. (from version 7)"""
    error_code: int = 0
    """Why the topic was not created, or 0."""
    error_message: str | None = ""
    """The reason in words, or null."""
    topic_config_error_code: int = 0
    """Why the settings are not shown, or 0. (from version 5)"""
    num_partitions: int = -1
    """How many partitions it has. (from version 5)"""
    replication_factor: int = -1
    """How many replicas each of them has. (from version 5)"""
    configs: list[CreatableTopicConfigs] | None = field(default_factory=list)
    """The settings of the topic; null when they are not shown. (from version 5)"""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("topic_id", "uuid", VersionRange(7), is_ignorable=True),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema(
                "error_message",
                "string",
                VersionRange(1),
                nullable_versions=VersionRange(1),
                is_ignorable=True,
            ),
            FieldSchema(
                "topic_config_error_code",
                "int16",
                VersionRange(5),
                tag=0,
                tagged_versions=VersionRange(5),
                is_ignorable=True,
            ),
            FieldSchema("num_partitions", "int32", VersionRange(5), is_ignorable=True),
            FieldSchema("replication_factor", "int16", VersionRange(5), is_ignorable=True),
            FieldSchema(
                "configs",
                "struct",
                VersionRange(5),
                struct=CreatableTopicConfigs,
                is_array=True,
                nullable_versions=VersionRange(5),
                is_ignorable=True,
            ),
        ),
    )


@message_part
class CreateTopicsResponse(Message):
    """What became of the topics to create."""

    throttle_time_ms: int = 0
    """How long the client is asked to be quiet, in milliseconds."""
    topics: list[CreatableTopicResult] = field(default_factory=list)
    """Results by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="CreateTopicsResponse",
        kind="response",
        api_key=19,
        valid_versions=VersionRange(2, 7),
        flexible_versions=VersionRange(5),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(2), is_ignorable=True),
            FieldSchema("topics", "struct", VersionRange(0), struct=CreatableTopicResult, is_array=True),
        ),
    )
