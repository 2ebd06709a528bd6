import re

from kproxy.telemetry.metric_declaration import MetricKind
from kproxy.telemetry.metric_table import DECLARATIONS

PROMISED_COUNTERS = {
    "connections": ("side",),
    "connection_errors": ("side", "reason"),
    "connection_throttles": (),
    "connections_expired": ("reason",),
    "connections_refused": ("reason",),
    "open_file_shortages": (),
    "requests": ("api", "version", "disposition"),
    "requests_refused": ("api", "reason"),
    "bytes": ("side", "direction"),
    "keepalives": (),
    "tls_renewals": ("role", "result"),
    "share_sessions_evicted": (),
    "share_acknowledgements": ("type",),
    "share_deliveries": ("first",),
    "share_lock_timeouts": (),
    "share_group_records": ("group", "event"),
    "share_read_turn_waits": ("reason",),
    "share_rebalances": (),
    "share_archived": ("reason",),
    "broker_throttles": (),
    "metadata_refreshes": ("result",),
    "acl_looks": ("result",),
    "rights_questions": ("result",),
    "metadata_looks": ("result",),
    "upstream_probe": ("result",),
    "unknown_principals": (),
    "share_subscriptions_refused": (),
    "statelog_records": ("topic",),
    "statelog_bytes": ("topic",),
    "statelog_replayed_records": (),
    "statelog_rebuilds": ("reason",),
    "statelog_refusals": ("reason",),
    "statelog_truncations": (),
    "statelog_lost_states": (),
    "statelog_corrupt_slots": (),
    "statelog_newer_formats": (),
    "statelog_delays": (),
    "statelog_prunings": ("result",),
    "fleet_maps": (),
    "fleet_slot_moves": ("change",),
    "peer_bytes": ("role", "direction"),
    "peer_refusals": ("reason",),
    "peer_views": ("result",),
    "admin_requests_refused": ("reason",),
    "admin_event_readers_refused": (),
    "admin_event_readers_cut_off": (),
    "operator_actions": ("action", "result"),
    "relayed_requests": ("api", "result"),
    "task_faults": ("task",),
    "metrics_dropped_series": ("metric",),
}
PROMISED_GAUGES = {
    "connections_open": ("side",),
    "connections_unauthenticated": (),
    "authorizer_source": ("source",),
    "memory_budget_bytes": (),
    "memory_budget_held_bytes": (),
    "share_groups": ("state",),
    "share_sessions": (),
    "share_partitions": (),
    "share_inflight_records": (),
    "share_fetches_parked": (),
    "share_group_inflight_records": ("group",),
    "share_group_window_ratio": ("group",),
    "share_partition_inflight_records": ("group", "topic", "partition"),
    "share_partition_inflight_batches": ("group", "topic", "partition"),
    "share_lag_records": ("group",),
    "share_oldest_unfinished_seconds": ("group",),
    "statelog_slots": ("state",),
    "statelog_pruned_offset": ("partition",),
    "fleet_members": ("state",),
    "fleet_lease_seconds": (),
    "fleet_map_epoch": (),
    "build_info": ("version", "python", "commit"),
    "buffered_bytes": (),
    "tls_certificate_expiry_timestamp_seconds": ("role",),
}


def declared(kind: MetricKind) -> dict[str, tuple[str, ...]]:
    return {metric.name: metric.labels for metric in DECLARATIONS if metric.kind is kind}


def test_the_table_declares_every_counter_that_is_promised() -> None:
    assert declared(MetricKind.COUNTER) == PROMISED_COUNTERS


def test_the_table_declares_every_gauge_that_is_promised() -> None:
    assert declared(MetricKind.GAUGE) == PROMISED_GAUGES


def test_names_are_unique_and_made_as_prometheus_wants_them() -> None:
    # When
    names = [metric.exposed_name for metric in DECLARATIONS]

    # Then
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"kproxy_[a-z]+(_[a-z]+)*", name) for name in names)


def test_every_meaning_is_a_sentence() -> None:
    assert all(metric.meaning.endswith(".") for metric in DECLARATIONS)
