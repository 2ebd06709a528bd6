"""ShareGroupDescribeResponse: version 1.

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
    topic_name: str = ""
    """The topic's name."""
    partitions: list[int] = field(default_factory=list)
    """The partitions assigned."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic_id", "uuid", VersionRange(0)),
            FieldSchema("topic_name", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class Assignment(MessagePart):
    """The value of `Member.assignment`. What the member should fetch."""

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
class Member(MessagePart):
    """An element of `DescribedGroup.members`. One entry per member."""

    member_id: str = ""
    """The member's id."""
    rack_id: str | None = None
    """The member's rack; null when it has none."""
    member_epoch: int = 0
    """The epoch of the assignment the member has."""
    client_id: str = ""
    """The client.id the member sent with its heartbeats."""
    client_host: str = ""
    """The address its heartbeats come from."""
    subscribed_topic_names: list[str] = field(default_factory=list)
    """The topics it subscribed to."""
    assignment: Assignment = field(default_factory=Assignment)
    """What the member should fetch."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("rack_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("client_id", "string", VersionRange(0)),
            FieldSchema("client_host", "string", VersionRange(0)),
            FieldSchema("subscribed_topic_names", "string", VersionRange(0), is_array=True),
            FieldSchema("assignment", "struct", VersionRange(0), struct=Assignment),
        ),
    )


@message_part
class DescribedGroup(MessagePart):
    """An element of `ShareGroupDescribeResponse.groups`. One entry per group that was asked for."""

    error_code: int = 0
    """NONE, or why the group cannot be described."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    group_id: str = ""
    """The share group."""
    group_state: str = ""
    """Empty, Stable or Dead."""
    group_epoch: int = 0
    """Grows whenever members, subscriptions or partitions change."""
    assignment_epoch: int = 0
    """The group epoch for which the assignment was made."""
    assignor_name: str = ""
    """The assignor in use, such as simple."""
    members: list[Member] = field(default_factory=list)
    """One entry per member."""
    authorized_operations: int = -2147483648
    """Bit set of what the client may do to the group; the minimum int32 when it was not asked for."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("group_state", "string", VersionRange(0)),
            FieldSchema("group_epoch", "int32", VersionRange(0)),
            FieldSchema("assignment_epoch", "int32", VersionRange(0)),
            FieldSchema("assignor_name", "string", VersionRange(0)),
            FieldSchema("members", "struct", VersionRange(0), struct=Member, is_array=True),
            FieldSchema("authorized_operations", "int32", VersionRange(0)),
        ),
    )


@message_part
class ShareGroupDescribeResponse(Message):
    """Share groups and their members."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    groups: list[DescribedGroup] = field(default_factory=list)
    """One entry per group that was asked for."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="ShareGroupDescribeResponse",
        kind="response",
        api_key=77,
        valid_versions=VersionRange(1, 1),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("groups", "struct", VersionRange(0), struct=DescribedGroup, is_array=True),
        ),
    )
