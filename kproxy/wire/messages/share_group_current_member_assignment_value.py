"""ShareGroupCurrentMemberAssignmentValue: version 0.

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
class TopicPartitions(MessagePart):
    """An element of `ShareGroupCurrentMemberAssignmentValue.assigned_partitions`. The partitions, by
    topic.
    """

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
class ShareGroupCurrentMemberAssignmentValue(Message):
    """What a member has been told to fetch, and its epochs."""

    member_epoch: int = 0
    """The epoch of the assignment the member has."""
    previous_member_epoch: int = 0
    """The one before; a heartbeat with it is accepted, as the answer may have been lost."""
    state: int = 0
    """State of the member; 0 is stable."""
    assigned_partitions: list[TopicPartitions] = field(default_factory=list)
    """The partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupCurrentMemberAssignmentValue",
        kind="coordinator-value",
        api_key=14,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("previous_member_epoch", "int32", VersionRange(0)),
            FieldSchema("state", "int8", VersionRange(0)),
            FieldSchema(
                "assigned_partitions", "struct", VersionRange(0), struct=TopicPartitions, is_array=True
            ),
        ),
    )
