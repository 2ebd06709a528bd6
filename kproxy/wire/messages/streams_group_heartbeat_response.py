"""StreamsGroupHeartbeatResponse: version 0.

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
class Status(MessagePart):
    """An element of `StreamsGroupHeartbeatResponse.status`. What the group is in; null for nothing."""

    status_code: int = 0
    """The code of a status that holds."""
    status_detail: str = ""
    """The status in words."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("status_code", "int8", VersionRange(0)),
            FieldSchema("status_detail", "string", VersionRange(0)),
        ),
    )


@message_part
class TaskIds(MessagePart):
    """An element of `StreamsGroupHeartbeatResponse.active_tasks` and an element of
    `StreamsGroupHeartbeatResponse.standby_tasks` and an element of
    `StreamsGroupHeartbeatResponse.warmup_tasks`.
    """

    subtopology_id: str = ""
    """The part of the topology."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the input topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("subtopology_id", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class Endpoint(MessagePart):
    """The value of `EndpointToPartitions.user_endpoint`. Where that member is."""

    host: str = ""
    """The host."""
    port: int = 0
    """The port."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("host", "string", VersionRange(0)),
            FieldSchema("port", "uint16", VersionRange(0)),
        ),
    )


@message_part
class TopicPartition(MessagePart):
    """An element of `EndpointToPartitions.active_partitions` and an element of
    `EndpointToPartitions.standby_partitions`.
    """

    topic: str = ""
    """The topic's name."""
    partitions: list[int] = field(default_factory=list)
    """The partitions of the topic."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("topic", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0), is_array=True),
        ),
    )


@message_part
class EndpointToPartitions(MessagePart):
    """An element of `StreamsGroupHeartbeatResponse.partitions_by_user_endpoint`. Who has which
    partitions; null when that did not change.
    """

    user_endpoint: Endpoint = field(default_factory=Endpoint)
    """Where that member is."""
    active_partitions: list[TopicPartition] = field(default_factory=list)
    """The partitions of its active tasks."""
    standby_partitions: list[TopicPartition] = field(default_factory=list)
    """The partitions of its standby tasks."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("user_endpoint", "struct", VersionRange(0), struct=Endpoint),
            FieldSchema("active_partitions", "struct", VersionRange(0), struct=TopicPartition, is_array=True),
            FieldSchema(
                "standby_partitions", "struct", VersionRange(0), struct=TopicPartition, is_array=True
            ),
        ),
    )


@message_part
class StreamsGroupHeartbeatResponse(Message):
    """The coordinator's answer to a heartbeat."""

    throttle_time_ms: int = 0
    """How long the client was or should be held back because of a quota; 0 for not at all."""
    error_code: int = 0
    """NONE, or why the member is not, or no longer, in the group."""
    error_message: str | None = None
    """The error in words; null when there is none."""
    member_id: str = ""
    """The member's id."""
    member_epoch: int = 0
    """The member epoch to send with the next heartbeat."""
    heartbeat_interval_ms: int = 0
    """When to send the next heartbeat, counted from this answer."""
    acceptable_recovery_lag: int = 0
    """The lag with which a warm-up task has caught up."""
    task_offset_interval_ms: int = 0
    """How often to send the offsets of tasks."""
    status: list[Status] | None = None
    """What the group is in; null for nothing."""
    active_tasks: list[TaskIds] | None = None
    """The active tasks to have; null when they did not change."""
    standby_tasks: list[TaskIds] | None = None
    """The standby tasks to have; null when they did not change."""
    warmup_tasks: list[TaskIds] | None = None
    """The warm-up tasks to have; null when they did not change."""
    endpoint_information_epoch: int = 0
    """The epoch of the endpoints."""
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None
    """Who has which partitions; null when that did not change."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="StreamsGroupHeartbeatResponse",
        kind="response",
        api_key=88,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("throttle_time_ms", "int32", VersionRange(0)),
            FieldSchema("error_code", "int16", VersionRange(0)),
            FieldSchema("error_message", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("heartbeat_interval_ms", "int32", VersionRange(0)),
            FieldSchema("acceptable_recovery_lag", "int32", VersionRange(0)),
            FieldSchema("task_offset_interval_ms", "int32", VersionRange(0)),
            FieldSchema(
                "status",
                "struct",
                VersionRange(0),
                struct=Status,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "active_tasks",
                "struct",
                VersionRange(0),
                struct=TaskIds,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "standby_tasks",
                "struct",
                VersionRange(0),
                struct=TaskIds,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "warmup_tasks",
                "struct",
                VersionRange(0),
                struct=TaskIds,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema("endpoint_information_epoch", "int32", VersionRange(0)),
            FieldSchema(
                "partitions_by_user_endpoint",
                "struct",
                VersionRange(0),
                struct=EndpointToPartitions,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
        ),
    )
