"""ShareGroupTargetAssignmentMemberValue: version 0.

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
class TopicPartition(MessagePart):
    """An element of `ShareGroupTargetAssignmentMemberValue.topic_partitions`. The partitions, by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class ShareGroupTargetAssignmentMemberValue(Message):
    """What a member is meant to fetch."""

    topic_partitions: list[TopicPartition] = field(default_factory=list)
    """The partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupTargetAssignmentMemberValue",
        kind="coordinator-value",
        api_key=13,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("topic_partitions", "struct", VersionRange(0), struct=TopicPartition, is_array=True),
        ),
    )
