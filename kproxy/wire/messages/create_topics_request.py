"""CreateTopicsRequest: versions 2 to 7.

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
class CreatableReplicaAssignment(MessagePart):
    """An element of `CreatableTopic.assignments`. Which brokers get which partition; empty leaves it
    to the controller.
    """

    partition_index: int = 0
    """The partition."""
    broker_ids: list[int] = field(default_factory=list)
    """The brokers of its replicas, the preferred leader first."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("partition_index", "int32", VersionRange(0)),
            FieldSchema("broker_ids", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class CreatableTopicConfig(MessagePart):
    """An element of `CreatableTopic.configs`. Settings of the topic that differ from the broker's."""

    name: str = ""
    """The setting's key."""
    value: str | None = ""
    """Its value."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("value", "string", VersionRange(0), nullable_versions=VersionRange(0)),
        ),
    )


@message_part
class CreatableTopic(MessagePart):
    """An element of `CreateTopicsRequest.topics`. The topics to create."""

    name: str = ""
    """The topic's name."""
    num_partitions: int = 0
    """How many partitions; -1 leaves it to the broker, or to the assignments."""
    replication_factor: int = 0
    """How many replicas of each partition; -1 leaves it to the broker, or to the assignments."""
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    """Which brokers get which partition; empty leaves it to the controller."""
    configs: list[CreatableTopicConfig] = field(default_factory=list)
    """Settings of the topic that differ from the broker's."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("num_partitions", "int32", VersionRange(0)),
            FieldSchema("replication_factor", "int16", VersionRange(0)),
            FieldSchema(
                "assignments", "struct", VersionRange(0), struct=CreatableReplicaAssignment, is_array=True
            ),
            FieldSchema("configs", "struct", VersionRange(0), struct=CreatableTopicConfig, is_array=True),
        ),
    )


@message_part
class CreateTopicsRequest(Message):
    """Create topics."""

    topics: list[CreatableTopic] = field(default_factory=list)
    """The topics to create."""
    timeout_ms: int = 60000
    """How long the controller may take, in milliseconds."""
    validate_only: bool = False
    """Whether to check the request and create nothing."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="CreateTopicsRequest",
        kind="request",
        api_key=19,
        valid_versions=VersionRange(2, 7),
        flexible_versions=VersionRange(5),
        fields=(
            FieldSchema("topics", "struct", VersionRange(0), struct=CreatableTopic, is_array=True),
            FieldSchema("timeout_ms", "int32", VersionRange(0)),
            FieldSchema("validate_only", "bool", VersionRange(1)),
        ),
    )
