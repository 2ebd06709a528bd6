"""ShareGroupHeartbeatResponse: version 1.

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
    """An element of `Assignment.topic_partitions`. The partitions, by topic."""

    topic_id: bytes = ZERO_UUID
    """The topic's id."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic that the member should fetch from."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class Assignment(MessagePart):
    """The value of `ShareGroupHeartbeatResponse.assignment`. What the member should fetch; null when
    nothing changed since the last answer.
    """

    topic_partitions: list[TopicPartitions] = field(default_factory=list)
    """The partitions, by topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_partitions", "struct", VersionRange(0), struct=TopicPartitions, is_array=True),
        ),
    )


@message_part
class ShareGroupHeartbeatResponse(Message):
    """The coordinator's answer to a heartbeat."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """NONE, or why the member is not, or no longer, in the group."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    member_id: str | None = None
    """The member's id as the coordinator has it; null with an error."""
    member_epoch: int = 0
    """The member epoch to send with the next heartbeat."""
    heartbeat_interval_ms: int = 0
    """When to send the next heartbeat, counted from this answer."""
    assignment: Assignment | None = None
    """What the member should fetch; null when nothing changed since the last answer."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupHeartbeatResponse",
        kind="response",
        api_key=76,
        valid_versions=VersionRange(1, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("heartbeat_interval_ms", "int32", VersionRange(0)),
            FieldSchema(
                "assignment", "struct", VersionRange(0), struct=Assignment, nullable_versions=VersionRange(0)
            ),
        ),
    )
