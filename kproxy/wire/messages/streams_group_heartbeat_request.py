"""StreamsGroupHeartbeatRequest: version 0.

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
class KeyValue(MessagePart):
    """An element of `StreamsGroupHeartbeatRequest.client_tags` and an element of
    `TopicInfo.topic_configs`.
    """

    key: str = ""
    """The name."""
    value: str = ""
    """The value."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("key", "string", VersionRange(0)),
            FieldSchema("value", "string", VersionRange(0)),
        ),
    )


@message_part
class TopicInfo(MessagePart):
    """An element of `Subtopology.state_changelog_topics` and an element of
    `Subtopology.repartition_source_topics`.
    """

    name: str = ""
    """The topic's name."""
    partitions: int = 0
    """How many partitions it has; 0 for any number."""
    replication_factor: int = 0
    """How many replicas; 0 for the default."""
    topic_configs: list[KeyValue] = field(default_factory=list)
    """Its configurations."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("name", "string", VersionRange(0)),
            FieldSchema("partitions", "int32", VersionRange(0)),
            FieldSchema("replication_factor", "int16", VersionRange(0)),
            FieldSchema("topic_configs", "struct", VersionRange(0), struct=KeyValue, is_array=True),
        ),
    )


@message_part
class CopartitionGroup(MessagePart):
    """An element of `Subtopology.copartition_groups`. Topics with equal partitions."""

    source_topics: list[int] = field(default_factory=list)
    """Indexes among the source topics."""
    source_topic_regex: list[int] = field(default_factory=list)
    """Indexes among the patterns of source topics."""
    repartition_source_topics: list[int] = field(default_factory=list)
    """Indexes among the repartition source topics."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("source_topics", "int16", VersionRange(0), is_array=True),
            FieldSchema("source_topic_regex", "int16", VersionRange(0), is_array=True),
            FieldSchema("repartition_source_topics", "int16", VersionRange(0), is_array=True),
        ),
    )


@message_part
class Subtopology(MessagePart):
    """An element of `Topology.subtopologies`. Its parts."""

    subtopology_id: str = ""
    """The part of the topology."""
    source_topics: list[str] = field(default_factory=list)
    """The topics it reads."""
    source_topic_regex: list[str] = field(default_factory=list)
    """Patterns of topics it reads."""
    state_changelog_topics: list[TopicInfo] = field(default_factory=list)
    """Its changelog topics."""
    repartition_sink_topics: list[str] = field(default_factory=list)
    """The repartition topics it writes."""
    repartition_source_topics: list[TopicInfo] = field(default_factory=list)
    """The repartition topics it reads."""
    copartition_groups: list[CopartitionGroup] = field(default_factory=list)
    """Topics with equal partitions."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("subtopology_id", "string", VersionRange(0)),
            FieldSchema("source_topics", "string", VersionRange(0), is_array=True),
            FieldSchema("source_topic_regex", "string", VersionRange(0), is_array=True),
            FieldSchema("state_changelog_topics", "struct", VersionRange(0), struct=TopicInfo, is_array=True),
            FieldSchema("repartition_sink_topics", "string", VersionRange(0), is_array=True),
            FieldSchema(
                "repartition_source_topics", "struct", VersionRange(0), struct=TopicInfo, is_array=True
            ),
            FieldSchema(
                "copartition_groups", "struct", VersionRange(0), struct=CopartitionGroup, is_array=True
            ),
        ),
    )


@message_part
class Topology(MessagePart):
    """The value of `StreamsGroupHeartbeatRequest.topology`. The topology of the application, sent to
    join; null otherwise.
    """

    epoch: int = 0
    """The epoch of the topology."""
    subtopologies: list[Subtopology] = field(default_factory=list)
    """Its parts."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("epoch", "int32", VersionRange(0)),
            FieldSchema("subtopologies", "struct", VersionRange(0), struct=Subtopology, is_array=True),
        ),
    )


@message_part
class TaskIds(MessagePart):
    """An element of `StreamsGroupHeartbeatRequest.active_tasks` and an element of
    `StreamsGroupHeartbeatRequest.standby_tasks` and an element of
    `StreamsGroupHeartbeatRequest.warmup_tasks`.
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
    """The value of `StreamsGroupHeartbeatRequest.user_endpoint`. Where the application is asked for
    its state; null without one, or when it did not change.
    """

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
class TaskOffset(MessagePart):
    """An element of `StreamsGroupHeartbeatRequest.task_offsets` and an element of
    `StreamsGroupHeartbeatRequest.task_end_offsets`.
    """

    subtopology_id: str = ""
    """The part of the topology."""
    partition: int = 0
    """The partition."""
    offset: int = 0
    """The offset."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[StructSchema] = StructSchema(
        fields=(
            FieldSchema("subtopology_id", "string", VersionRange(0)),
            FieldSchema("partition", "int32", VersionRange(0)),
            FieldSchema("offset", "int64", VersionRange(0)),
        ),
    )


@message_part
class StreamsGroupHeartbeatRequest(Message):
    """A member of a streams group (KIP-1071) joins, stays or leaves."""

    group_id: str = ""
    """The group's id."""
    member_id: str = ""
    """The member's id."""
    member_epoch: int = 0
    """The member epoch; 0 to join, -1 to leave, -2 for a static member that comes back."""
    endpoint_information_epoch: int = 0
    """The endpoint epoch that the member heard last."""
    instance_id: str | None = None
    """The id of a static member; null for others, or when nothing changed."""
    rack_id: str | None = None
    """Where the member is; null when it did not change."""
    rebalance_timeout_ms: int = -1
    """How long the member may take to give tasks up; -1 when it did not change."""
    topology: Topology | None = None
    """The topology of the application, sent to join; null otherwise."""
    active_tasks: list[TaskIds] | None = None
    """The active tasks that the member has; null when they did not change."""
    standby_tasks: list[TaskIds] | None = None
    """The standby tasks that the member has; null when they did not change."""
    warmup_tasks: list[TaskIds] | None = None
    """The warm-up tasks that the member has; null when they did not change."""
    process_id: str | None = None
    """The process of the member; null when it did not change."""
    user_endpoint: Endpoint | None = None
    """Where the application is asked for its state; null without one, or when it did not change."""
    client_tags: list[KeyValue] | None = None
    """What rack-aware assignment goes by; null when it did not change."""
    task_offsets: list[TaskOffset] | None = None
    """How far the changelogs were read; null when that did not change."""
    task_end_offsets: list[TaskOffset] | None = None
    """Where the changelogs end; null when that did not change."""
    shutdown_application: bool = False
    """Whether every member is to shut down."""
    unknown_tagged_fields: tuple[tuple[int, bytes], ...] = ()
    """Tagged fields that the schema does not know, by rising tag."""

    SCHEMA: ClassVar[MessageSchema] = MessageSchema(
        name="StreamsGroupHeartbeatRequest",
        kind="request",
        api_key=88,
        valid_versions=VersionRange(0, 0),
        flexible_versions=VersionRange(0),
        fields=(
            FieldSchema("group_id", "string", VersionRange(0)),
            FieldSchema("member_id", "string", VersionRange(0)),
            FieldSchema("member_epoch", "int32", VersionRange(0)),
            FieldSchema("endpoint_information_epoch", "int32", VersionRange(0)),
            FieldSchema("instance_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("rack_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema("rebalance_timeout_ms", "int32", VersionRange(0)),
            FieldSchema(
                "topology", "struct", VersionRange(0), struct=Topology, nullable_versions=VersionRange(0)
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
            FieldSchema("process_id", "string", VersionRange(0), nullable_versions=VersionRange(0)),
            FieldSchema(
                "user_endpoint", "struct", VersionRange(0), struct=Endpoint, nullable_versions=VersionRange(0)
            ),
            FieldSchema(
                "client_tags",
                "struct",
                VersionRange(0),
                struct=KeyValue,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "task_offsets",
                "struct",
                VersionRange(0),
                struct=TaskOffset,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema(
                "task_end_offsets",
                "struct",
                VersionRange(0),
                struct=TaskOffset,
                is_array=True,
                nullable_versions=VersionRange(0),
            ),
            FieldSchema("shutdown_application", "bool", VersionRange(0)),
        ),
    )
