# ruff: noqa: RUF009 - _key makes a dataclasses.field, which is no shared value
"""Every key that kproxy knows: one table, which is also the class that the rest of kproxy reads.

A key that has Kafka's meaning has Kafka's name; kproxy's own begin with `kproxy.`, and those that concern the
connections to the backing brokers with `upstream.`. The attribute is the key with underscores and without
`kproxy.`, and the name in the environment is `KPROXY_` and the attribute in capitals; so that the two never
meet, no key begins with `kproxy.upstream.`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

from kproxy.settings.addresses import LAST_PORT, HostPort
from kproxy.settings.choices import (
    CorruptRecords,
    LogFormat,
    LogLevel,
    ShareUpstream,
    UpstreamSecurityProtocol,
)
from kproxy.settings.value_kinds import (
    ValueKind,
    host_name,
    listening_address,
    milliseconds,
    one_of,
    optional_listening_address,
    port_by_node_id,
    server_addresses,
    topic_name,
    true_or_false,
    whole_number,
)

T = TypeVar("T")


def _key(name: str, kind: ValueKind[T], default: str, doc: str) -> T:
    metadata = {"name": name, "kind": kind, "doc": doc}
    return field(default_factory=lambda: kind.parse(default), metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The configuration of one kproxy process, frozen. `load_settings` is what makes and validates it.

    Every field has its default, so that `Settings()` is the configuration of somebody who set nothing.
    Durations are milliseconds and sizes are bytes, as the names say; ranges are inclusive at both ends.
    """

    # ------------------------------------------------ addresses
    bootstrap_servers: tuple[HostPort, ...] = _key(
        "bootstrap.servers",
        server_addresses(),
        "",
        "The backing cluster: brokers to ask first, in this order.",
    )
    listen: HostPort = _key(
        "kproxy.listen",
        listening_address(),
        "127.0.0.1:19092",
        "Where clients bootstrap. Broker ports are bound on the same host; port 0 takes any free port.",
    )
    broker_port_start: int = _key(
        "kproxy.broker.port.start",
        whole_number(1, LAST_PORT),
        "19100",
        "The port of a backing broker is this plus its node id, unless kproxy.broker.port.map names one.",
    )
    broker_port_map: Mapping[int, int] = _key(
        "kproxy.broker.port.map", port_by_node_id(), "", "Ports of single backing brokers, by node id."
    )
    advertised_host: str = _key(
        "kproxy.advertised.host",
        host_name(),
        "",
        "The host that clients are told to connect to, $(nodeId) standing for the broker's node id; empty takes "
        "the host of kproxy.listen.",
    )
    admin_listener: HostPort | None = _key(
        "kproxy.admin.listener",
        optional_listening_address(),
        "127.0.0.1:9644",
        "Where health, metrics and status are served over HTTP; empty or none turns it off.",
    )

    # ------------------------------------------------ connections
    upstream_security_protocol: UpstreamSecurityProtocol = _key(
        "upstream.security.protocol",
        one_of(
            UpstreamSecurityProtocol, why=": TLS and SASL of kproxy's own connections come in a later version"
        ),
        "PLAINTEXT",
        "How kproxy's own connections reach the backing brokers. TLS and SASL come in a later version.",
    )
    socket_request_max_bytes: int = _key(
        "socket.request.max.bytes",
        whole_number(1),
        "104857600",
        "The longest frame that is taken from a client.",
    )
    max_buffered_bytes: int = _key(
        "kproxy.max.buffered.bytes",
        whole_number(1024 * 1024),
        "268435456",
        "What all relayed connections may hold together: frames that are held whole, and bytes that slow peers "
        "have not taken. Above it kproxy reads no further.",
    )
    frame_deadline_ms: int = _key(
        "kproxy.frame.deadline.ms",
        milliseconds(1),
        "30000",
        "A connection whose frame has begun and does not go on for this long is closed.",
    )
    connect_timeout_ms: int = _key(
        "kproxy.connect.timeout.ms",
        milliseconds(1),
        "5000",
        "How long a connection to a backing broker may take.",
    )
    keepalive_ms: int = _key(
        "kproxy.keepalive.ms",
        milliseconds(100),
        "240000",
        "A connection to a backing broker that was silent for this long, with no response owed, gets an "
        "ApiVersions request from kproxy. Keep it below the brokers' connections.max.idle.ms.",
    )
    metadata_max_age_ms: int = _key(
        "metadata.max.age.ms",
        milliseconds(100),
        "300000",
        "How old the view of topics, leaders and brokers may get before the backing cluster is asked again.",
    )
    topics_look_interval_ms: int = _key(
        "kproxy.topics.look.interval.ms",
        milliseconds(100, 300_000),
        "900",
        "How often the topics of share groups are looked at, so that topics that others create, delete or extend are "
        "noticed. Nothing is asked while there are no share groups.",
    )
    shutdown_grace_ms: int = _key(
        "kproxy.shutdown.grace.ms",
        milliseconds(0),
        "10000",
        "How long a stop may take: parked fetches are answered and connections closed in that time. A second SIGTERM "
        "or SIGINT cuts it short.",
    )

    # ------------------------------------------------ share groups
    share_upstream: ShareUpstream = _key(
        "kproxy.share.upstream",
        one_of(ShareUpstream),
        "refuse",
        "What to do when the backing cluster serves share groups itself: refuse keeps kproxy's own off and "
        "relays, shadow serves kproxy's in their place. Two coordinators of one group deliver records twice.",
    )
    group_share_max_size: int = _key(
        "group.share.max.size", whole_number(1, 1000), "200", "Members that one share group may have."
    )
    group_share_max_share_sessions: int = _key(
        "group.share.max.share.sessions", whole_number(1), "2000", "Share sessions that may be open at once."
    )
    share_session_max_partitions: int = _key(
        "kproxy.share.session.max.partitions",
        whole_number(1),
        "5000",
        "Partitions that one share session may have. Each fetch looks at all of its session's; a request for more is "
        "answered INVALID_REQUEST.",
    )
    share_sessions_max_partitions: int = _key(
        "kproxy.share.sessions.max.partitions",
        whole_number(1),
        "200000",
        "Partitions that all share sessions may have together. Beyond that SHARE_SESSION_LIMIT_REACHED is answered.",
    )
    group_share_session_timeout_ms: int = _key(
        "group.share.session.timeout.ms", milliseconds(1), "45000", "A member silent for this long has left."
    )
    group_share_min_session_timeout_ms: int = _key(
        "group.share.min.session.timeout.ms", milliseconds(1), "45000", "The lowest session timeout allowed."
    )
    group_share_max_session_timeout_ms: int = _key(
        "group.share.max.session.timeout.ms", milliseconds(1), "60000", "The highest session timeout allowed."
    )
    group_share_heartbeat_interval_ms: int = _key(
        "group.share.heartbeat.interval.ms",
        milliseconds(1),
        "5000",
        "How often members are told to send heartbeats.",
    )
    group_share_min_heartbeat_interval_ms: int = _key(
        "group.share.min.heartbeat.interval.ms",
        milliseconds(1),
        "5000",
        "The lowest heartbeat interval allowed.",
    )
    group_share_max_heartbeat_interval_ms: int = _key(
        "group.share.max.heartbeat.interval.ms",
        milliseconds(1),
        "15000",
        "The highest heartbeat interval allowed.",
    )
    group_share_assignment_interval_ms: int = _key(
        "group.share.assignment.interval.ms",
        milliseconds(0, 15000),
        "1000",
        "The least time between two assignments of one share group.",
    )
    share_assignment_delay_ms: int = _key(
        "kproxy.share.assignment.delay.ms",
        milliseconds(0, 5_000),
        "50",
        "How long a share group waits for further members before it assigns partitions: members that join, leave or "
        "are lost within that time are assigned together.",
    )
    share_heartbeat_max_wait_ms: int = _key(
        "kproxy.share.heartbeat.max.wait.ms",
        milliseconds(0, 15_000),
        "15000",
        "How long a share group's heartbeat that has nothing to tell may be held, so that its member hears of a new "
        "assignment at once; it is answered 100 ms before the next one is due in any case. 0 holds none.",
    )
    group_share_delivery_count_limit: int = _key(
        "group.share.delivery.count.limit",
        whole_number(2, 10),
        "5",
        "Deliveries before a record is archived.",
    )
    group_share_record_lock_duration_ms: int = _key(
        "group.share.record.lock.duration.ms",
        milliseconds(1000, 3_600_000),
        "30000",
        "How long a member holds the records it acquired.",
    )
    group_share_min_record_lock_duration_ms: int = _key(
        "group.share.min.record.lock.duration.ms",
        milliseconds(1000, 30_000),
        "15000",
        "The shortest lock that a group may ask for with share.record.lock.duration.ms.",
    )
    group_share_max_record_lock_duration_ms: int = _key(
        "group.share.max.record.lock.duration.ms",
        milliseconds(30_000, 3_600_000),
        "60000",
        "The longest lock that a group may ask for with share.record.lock.duration.ms.",
    )
    group_share_partition_max_record_locks: int = _key(
        "group.share.partition.max.record.locks",
        whole_number(100, 10_000),
        "2000",
        "Records of one share-partition that may be in flight at once.",
    )

    # ------------------------------------------------ the state log
    state_topic_name: str = _key(
        "kproxy.state.topic.name",
        topic_name(),
        "__kproxy_share_state",
        "The topic of the backing cluster that holds the state of share-partitions; created when missing.",
    )
    groups_topic_name: str = _key(
        "kproxy.groups.topic.name",
        topic_name(),
        "__kproxy_share_groups",
        "The topic of the backing cluster that holds share groups, members and group configs; created when missing.",
    )
    share_coordinator_state_topic_num_partitions: int = _key(
        "share.coordinator.state.topic.num.partitions",
        whole_number(1, 1000),
        "50",
        "Partitions of each of the two topics when they are created. They cannot be changed afterwards.",
    )
    share_coordinator_state_topic_replication_factor: int = _key(
        "share.coordinator.state.topic.replication.factor",
        whole_number(1, 32767),
        "3",
        "Replicas of each of the two topics when they are created; a cluster with fewer brokers needs a lower one.",
    )
    share_coordinator_state_topic_min_isr: int = _key(
        "share.coordinator.state.topic.min.isr",
        whole_number(1, 32767),
        "2",
        "min.insync.replicas of the two topics when they are created.",
    )
    share_coordinator_state_topic_segment_bytes: int = _key(
        "share.coordinator.state.topic.segment.bytes",
        whole_number(14, 2_147_483_647),
        "104857600",
        "segment.bytes of the state topic when it is created.",
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = _key(
        "share.coordinator.snapshot.update.records.per.snapshot",
        whole_number(0, 500),
        "500",
        "Updates of one share-partition between two snapshots of it.",
    )
    share_coordinator_write_timeout_ms: int = _key(
        "share.coordinator.write.timeout.ms",
        milliseconds(1),
        "5000",
        "How long a write to the state log may take before its outcome counts as unknown.",
    )
    share_coordinator_state_topic_prune_interval_ms: int = _key(
        "share.coordinator.state.topic.prune.interval.ms",
        milliseconds(1),
        "300000",
        "How often recovery points are written and the state topic is pruned.",
    )
    share_coordinator_cold_partition_snapshot_interval_ms: int = _key(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        milliseconds(1),
        "300000",
        "Share-partitions not written for this long get a fresh snapshot, so that pruning and recovery move on.",
    )
    state_history_ms: int = _key(
        "kproxy.state.history.ms",
        milliseconds(0, 10**15),
        "604800000",
        "How much history of the state topic is kept for replay and audit; what is needed for recovery is kept anyway.",
    )
    state_on_corrupt_record: CorruptRecords = _key(
        "kproxy.state.on.corrupt.record",
        one_of(CorruptRecords),
        "fail",
        "What to do about a record that cannot be used: fail stops share groups of that partition, skip goes on.",
    )
    share_coordinator_enable: bool = _key(
        "kproxy.share.coordinator.enable",
        true_or_false(),
        "false",
        "Serve the share coordinator's own APIs (keys 83 to 87) on the wire. Whoever reaches the port may use them.",
    )

    # ------------------------------------------------ what the operator sees
    log_format: LogFormat = _key(
        "kproxy.log.format",
        one_of(LogFormat),
        "auto",
        "Log lines as JSON or as text; auto is text on a terminal.",
    )
    log_level: LogLevel = _key(
        "kproxy.log.level", one_of(LogLevel), "info", "The least severe log line written."
    )
    metrics_max_series: int = _key(
        "kproxy.metrics.max.series",
        whole_number(1),
        "1000",
        "Label sets that one metric may have; what comes later is counted under the label value other.",
    )

    def __post_init__(self) -> None:
        """Fill in what follows from another key."""
        if not self.advertised_host:
            object.__setattr__(self, "advertised_host", self.listen.host)


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
