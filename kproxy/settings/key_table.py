# ruff: noqa: RUF009 - key_row makes a dataclasses.field, which is no shared value
"""Every key that kproxy knows: one table, which is also the class that the rest of kproxy reads.

A key that has Kafka's meaning has Kafka's name; kproxy's own begin with `kproxy.`, and those that concern the
connections to the backing brokers with `upstream.`. The attribute is the key with underscores and without
`kproxy.`, and the name in the environment is `KPROXY_` and the attribute in capitals; so that the two never
meet, no key begins with `kproxy.upstream.`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from kproxy.settings.choices import (
    CorruptRecords,
    LogFormat,
    LogLevel,
    ShareAssignor,
    ShareUpstream,
)
from kproxy.settings.key_rows import key_row
from kproxy.settings.limit_keys import LimitSettings
from kproxy.settings.value_kinds import (
    ValueKind,
    milliseconds,
    one_of,
    share_assignor,
    topic_name,
    true_or_false,
    whole_number,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(LimitSettings):
    """The configuration of one kproxy process, frozen. `load_settings` is what makes and validates it.

    Every field has its default, so that `Settings()` is the configuration of somebody who set nothing.
    Durations are milliseconds and sizes are bytes, as the names say; ranges are inclusive at both ends.
    """

    # ------------------------------------------------ share groups
    share_enable: bool = key_row(
        "kproxy.share.enable",
        true_or_false(),
        "true",
        "Serve share groups. With false the share APIs stay advertised and are answered UNSUPPORTED_VERSION, as by a "
        "broker whose feature share.version is 0, and nothing is read from or written to the state log.",
    )
    share_upstream: ShareUpstream = key_row(
        "kproxy.share.upstream",
        one_of(ShareUpstream),
        "refuse",
        "What to do when the backing cluster serves share groups itself: refuse keeps kproxy's own off and "
        "relays, shadow serves kproxy's in their place. Two coordinators of one group deliver records twice.",
    )
    group_share_max_size: int = key_row(
        "group.share.max.size", whole_number(1, 1000), "200", "Members that one share group may have."
    )
    group_share_max_share_sessions: int = key_row(
        "group.share.max.share.sessions", whole_number(1), "2000", "Share sessions that may be open at once."
    )
    share_session_max_partitions: int = key_row(
        "kproxy.share.session.max.partitions",
        whole_number(1),
        "5000",
        "Partitions that one share session may have. Each fetch looks at all of its session's; a request for more is "
        "answered INVALID_REQUEST.",
    )
    share_sessions_max_partitions: int = key_row(
        "kproxy.share.sessions.max.partitions",
        whole_number(1),
        "200000",
        "Partitions that all share sessions may have together. Beyond that SHARE_SESSION_LIMIT_REACHED is answered.",
    )
    share_groups_max: int = key_row(
        "kproxy.share.groups.max",
        whole_number(1),
        "100000",
        "Share groups that there may be in one process, and groups that may have configurations, whether or not they "
        "exist. What would make another one is answered POLICY_VIOLATION.",
    )
    share_groups_max_subscribed_topics: int = key_row(
        "kproxy.share.groups.max.subscribed.topics",
        whole_number(1),
        "200000",
        "Topics that the members of all share groups may name together, each once for each different subscription of a "
        "group. A heartbeat that names more is answered POLICY_VIOLATION.",
    )
    share_admin_request_max_entries: int = key_row(
        "kproxy.share.admin.request.max.entries",
        whole_number(1),
        "10000",
        "Groups, topics and partitions that one request to describe, alter or delete share groups or their offsets may "
        "name; every 100 characters of a name count for another one. A request for more is answered INVALID_REQUEST.",
    )
    share_admin_response_max_entries: int = key_row(
        "kproxy.share.admin.response.max.entries",
        whole_number(1),
        "50000",
        "Members, topics and partitions that the answer to such a request tells of; every 100 characters of what "
        "members say of themselves count for another one. Groups beyond that are answered INVALID_REQUEST.",
    )
    group_share_session_timeout_ms: int = key_row(
        "group.share.session.timeout.ms", milliseconds(1), "45000", "A member silent for this long has left."
    )
    group_share_min_session_timeout_ms: int = key_row(
        "group.share.min.session.timeout.ms", milliseconds(1), "45000", "The lowest session timeout allowed."
    )
    group_share_max_session_timeout_ms: int = key_row(
        "group.share.max.session.timeout.ms", milliseconds(1), "60000", "The highest session timeout allowed."
    )
    group_share_heartbeat_interval_ms: int = key_row(
        "group.share.heartbeat.interval.ms",
        milliseconds(1),
        "5000",
        "How often members are told to send heartbeats.",
    )
    group_share_min_heartbeat_interval_ms: int = key_row(
        "group.share.min.heartbeat.interval.ms",
        milliseconds(1),
        "5000",
        "The lowest heartbeat interval allowed.",
    )
    group_share_max_heartbeat_interval_ms: int = key_row(
        "group.share.max.heartbeat.interval.ms",
        milliseconds(1),
        "15000",
        "The highest heartbeat interval allowed.",
    )
    group_share_assignment_interval_ms: int = key_row(
        "group.share.assignment.interval.ms",
        milliseconds(0),
        "1000",
        "The least time between two assignments of one share group.",
    )
    share_assignment_delay_ms: int = key_row(
        "kproxy.share.assignment.delay.ms",
        milliseconds(0, 5_000),
        "50",
        "How long a share group waits for further members before it assigns partitions: members that join, leave or "
        "are lost within that time are assigned together.",
    )
    share_heartbeat_max_wait_ms: int = key_row(
        "kproxy.share.heartbeat.max.wait.ms",
        milliseconds(0, 15_000),
        "15000",
        "How long a share group's heartbeat that has nothing to tell may be held, so that its member hears of a new "
        "assignment at once; it is answered 100 ms before the next one is due in any case. 0 holds none.",
    )
    group_share_delivery_count_limit: int = key_row(
        "group.share.delivery.count.limit",
        whole_number(2, 10),
        "5",
        "Deliveries before a record is archived.",
    )
    group_share_record_lock_duration_ms: int = key_row(
        "group.share.record.lock.duration.ms",
        milliseconds(1000, 3_600_000),
        "30000",
        "How long a member holds the records it acquired.",
    )
    group_share_min_record_lock_duration_ms: int = key_row(
        "group.share.min.record.lock.duration.ms",
        milliseconds(1000, 30_000),
        "15000",
        "The shortest lock that a group may ask for with share.record.lock.duration.ms.",
    )
    group_share_max_record_lock_duration_ms: int = key_row(
        "group.share.max.record.lock.duration.ms",
        milliseconds(30_000, 3_600_000),
        "60000",
        "The longest lock that a group may ask for with share.record.lock.duration.ms.",
    )
    group_share_partition_max_record_locks: int = key_row(
        "group.share.partition.max.record.locks",
        whole_number(100, 10_000),
        "2000",
        "Records of one share-partition that may be in flight at once.",
    )
    group_share_min_delivery_count_limit: int = key_row(
        "group.share.min.delivery.count.limit", whole_number(2, 5), "2", "The lowest delivery limit allowed."
    )
    group_share_max_delivery_count_limit: int = key_row(
        "group.share.max.delivery.count.limit",
        whole_number(5, 25),
        "10",
        "The highest delivery limit allowed.",
    )
    group_share_min_assignment_interval_ms: int = key_row(
        "group.share.min.assignment.interval.ms",
        milliseconds(0),
        "0",
        "The lowest assignment interval allowed.",
    )
    group_share_max_assignment_interval_ms: int = key_row(
        "group.share.max.assignment.interval.ms", milliseconds(0), "15000", "The highest one allowed."
    )
    group_share_min_partition_max_record_locks: int = key_row(
        "group.share.min.partition.max.record.locks", whole_number(100, 2_000), "100", "The fewest allowed."
    )
    group_share_max_partition_max_record_locks: int = key_row(
        "group.share.max.partition.max.record.locks", whole_number(2_000, 10_000), "4000", "The most allowed."
    )
    group_share_assignors: ShareAssignor = key_row(
        "group.share.assignors",
        share_assignor(),
        "simple",
        "Who shares out the partitions of share groups: there is one, which may be named by Kafka's class, too.",
    )
    group_share_initialize_retry_interval_ms: int = key_row(
        "group.share.initialize.retry.interval.ms",
        milliseconds(1),
        "30000",
        "When initializations are repeated.",
    )

    # ------------------------------------------------ the state log
    state_topic_name: str = key_row(
        "kproxy.state.topic.name",
        topic_name(),
        "__kproxy_share_state",
        "The topic of the backing cluster that holds the state of share-partitions; created when missing.",
    )
    groups_topic_name: str = key_row(
        "kproxy.groups.topic.name",
        topic_name(),
        "__kproxy_share_groups",
        "The topic of the backing cluster that holds share groups, members and group configs; created when missing.",
    )
    share_coordinator_state_topic_num_partitions: int = key_row(
        "share.coordinator.state.topic.num.partitions",
        whole_number(1, 1000),
        "50",
        "Partitions of each of the two topics when they are created. They cannot be changed afterwards.",
    )
    share_coordinator_state_topic_replication_factor: int = key_row(
        "share.coordinator.state.topic.replication.factor",
        whole_number(1, 32767),
        "3",
        "Replicas of each of the two topics when they are created; a cluster with fewer brokers needs a lower one.",
    )
    share_coordinator_state_topic_min_isr: int = key_row(
        "share.coordinator.state.topic.min.isr",
        whole_number(1, 32767),
        "2",
        "min.insync.replicas of the two topics when they are created.",
    )
    share_coordinator_state_topic_segment_bytes: int = key_row(
        "share.coordinator.state.topic.segment.bytes",
        whole_number(14, 2_147_483_647),
        "104857600",
        "segment.bytes of the state topic when it is created.",
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = key_row(
        "share.coordinator.snapshot.update.records.per.snapshot",
        whole_number(0, 500),
        "500",
        "Updates of one share-partition between two snapshots of it.",
    )
    share_coordinator_write_timeout_ms: int = key_row(
        "share.coordinator.write.timeout.ms",
        milliseconds(1),
        "5000",
        "How long a write to the state log may take before its outcome counts as unknown.",
    )
    share_coordinator_state_topic_prune_interval_ms: int = key_row(
        "share.coordinator.state.topic.prune.interval.ms",
        milliseconds(1),
        "300000",
        "How often recovery points are written and the state topic is pruned.",
    )
    share_coordinator_cold_partition_snapshot_interval_ms: int = key_row(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        milliseconds(1),
        "300000",
        "Share-partitions not written for this long get a fresh snapshot, so that pruning and recovery move on.",
    )
    state_history_ms: int = key_row(
        "kproxy.state.history.ms",
        milliseconds(0, 10**15),
        "604800000",
        "How much history of the state topic is kept for replay and audit; what is needed for recovery is kept anyway.",
    )
    state_on_corrupt_record: CorruptRecords = key_row(
        "kproxy.state.on.corrupt.record",
        one_of(CorruptRecords),
        "fail",
        "What to do about a record that cannot be used: fail stops share groups of that partition, skip goes on.",
    )
    share_coordinator_enable: bool = key_row(
        "kproxy.share.coordinator.enable",
        true_or_false(),
        "false",
        "Serve the share coordinator's own APIs (keys 83 to 87) on the wire, to who may do CLUSTER_ACTION.",
    )

    # ------------------------------------------------ what the operator sees
    log_format: LogFormat = key_row(
        "kproxy.log.format",
        one_of(LogFormat),
        "auto",
        "Log lines as JSON or as text; auto is text on a terminal.",
    )
    log_level: LogLevel = key_row(
        "kproxy.log.level", one_of(LogLevel), "info", "The least severe log line written."
    )
    metrics_max_series: int = key_row(
        "kproxy.metrics.max.series",
        whole_number(1),
        "1000",
        "Label sets that one metric may have; what comes later is counted under the label value other.",
    )

    def __post_init__(self) -> None:
        """Fill in what follows from another key."""
        if not self.advertised_host:
            object.__setattr__(self, "advertised_host", self.listen.host)
        if not self.fleet_advertised_host:
            object.__setattr__(self, "fleet_advertised_host", self.fleet_listener.host)
        if not self.fleet_group:
            object.__setattr__(self, "fleet_group", self.state_topic_name)


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One row of the table. `default` is the text of the value that holds when nobody set the key."""

    name: str
    attribute: str
    environment_name: str
    kind: ValueKind[Any]
    default: str
    doc: str

    def text_in(self, settings: Settings) -> str:
        """Return the value as a configuration file would say it."""
        return self.kind.write(getattr(settings, self.attribute))


def _keys() -> Mapping[str, SettingKey]:
    table: dict[str, SettingKey] = {}
    for row in fields(Settings):
        name, kind = row.metadata["name"], row.metadata["kind"]
        assert callable(row.default_factory)
        default = kind.write(row.default_factory())
        environment_name = f"KPROXY_{row.name.upper()}"
        table[name] = SettingKey(name, row.name, environment_name, kind, default, row.metadata["doc"])
    return table


KEYS: Final = _keys()
"""Every key by its name, in the order of the table."""
