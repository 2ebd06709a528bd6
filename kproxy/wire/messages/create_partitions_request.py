"""CreatePartitionsRequest: versions 0 to 3.

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
class CreatePartitionsAssignment(MessagePart):
    """An element of `CreatePartitionsTopic.assignments`. Who gets the new ones; null leaves that to
    the broker.
    """

    broker_ids: list[int] = field(default_factory=list)
    """The brokers with the replicas of one of them."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(FieldSchema("broker_ids", "int32", VersionRange(0), is_array=True),),
    )


@message_part
class CreatePartitionsTopic(MessagePart):
    """An element of `CreatePartitionsRequest.topics`. The topics."""

    name: str = ""
    """The name of the topic."""
    count: int = 0
    """How many partitions the topic is to have."""
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)
    """Who gets the new ones; null leaves that to the broker."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("count", "int32", VersionRange(0)),
            FieldSchema(
                "assignments",
                "struct",
                VersionRange(0),
                struct=CreatePartitionsAssignment,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )


@message_part
class CreatePartitionsRequest(Message):
    """Gives topics more partitions."""

    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    """The topics."""
    timeout_ms: int = 0
    """How long the broker may take, in milliseconds."""
    validate_only: bool = False
    """Whether nothing is to be done."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="CreatePartitionsRequest",
        kind="request",
        api_key=37,
        valid_versions=VersionRange(0, 3),
        flexible_versions=VersionRange(2),
        fields=(
            FieldSchema("topics", "struct", VersionRange(0), struct=CreatePartitionsTopic, is_array=True),
            FieldSchema("timeout_ms", "int32", VersionRange(0)),
            FieldSchema("validate_only", "bool", VersionRange(0)),
        ),
    )
