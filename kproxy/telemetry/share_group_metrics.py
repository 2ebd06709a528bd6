"""The metrics of share groups: a part of the table of all (`metric_table`)."""

from typing import Final

from kproxy.telemetry.metric_declaration import MetricDeclaration, MetricKind

_TURN_BUCKETS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
_COUNTER: Final = MetricKind.COUNTER
_GAUGE: Final = MetricKind.GAUGE

SHARE_GROUP_METRICS: Final = (
    MetricDeclaration(
        "share_acknowledgements",
        _COUNTER,
        "Records acknowledged by share consumers.",
        ("type",),
        (("accept",), ("release",), ("reject",), ("renew",), ("gap",)),
    ),
    MetricDeclaration(
        "share_deliveries",
        _COUNTER,
        "Records delivered to share consumers; first tells a first delivery from a repeated one.",
        ("first",),
        (("true",), ("false",)),
    ),
    MetricDeclaration("share_lock_timeouts", _COUNTER, "Records whose acquisition lock expired."),
    MetricDeclaration(
        "share_archived",
        _COUNTER,
        "Records that will not be delivered again.",
        ("reason",),
        (("delivery_limit",), ("rejected",), ("gap",), ("log_start",), ("operator",)),
    ),
    MetricDeclaration(
        "share_group_records",
        _COUNTER,
        "Records of a share group, by what happened to them.",
        ("group", "event"),
    ),
    MetricDeclaration(
        "share_fetch_ratio",
        MetricKind.HISTOGRAM,
        "Of how many of the partitions that a ShareFetch asks for it gets records, from 0 for none to 1 for all.",
        ("group",),
        buckets=(0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0),
    ),
    MetricDeclaration(
        "share_acquire_seconds",
        MetricKind.HISTOGRAM,
        "From the beginning of a ShareFetch to its first turn to read, or its end: it waits for loads, for room in "
        "full windows and for others that read, and not for records. In whole milliseconds.",
        ("group",),
        buckets=_TURN_BUCKETS,
    ),
    MetricDeclaration(
        "share_read_turn_seconds",
        MetricKind.HISTOGRAM,
        "How long a ShareFetch keeps its turns to read, in which no other one of its group reads the same. In whole "
        "milliseconds.",
        ("group",),
        buckets=_TURN_BUCKETS,
    ),
    MetricDeclaration(
        "share_read_turn_waits",
        _COUNTER,
        "Times that a ShareFetch could not read a share-partition at once: another one did, or its window was full.",
        ("reason",),
        (("busy",), ("full",)),
    ),
    MetricDeclaration(
        "share_partition_load_seconds",
        MetricKind.HISTOGRAM,
        "How long share-partitions took to be loaded when somebody fetched from them. In whole milliseconds.",
        buckets=_TURN_BUCKETS,
    ),
    MetricDeclaration("share_rebalances", _COUNTER, "Target assignments computed for share groups."),
    MetricDeclaration("share_fetches_parked", _GAUGE, "ShareFetches that wait for records."),
    MetricDeclaration(
        "share_group_inflight_records",
        _GAUGE,
        "Records in flight of a share group, where there are any: the groups with the most.",
        ("group",),
    ),
    MetricDeclaration(
        "share_group_window_ratio",
        _GAUGE,
        "How full the fullest window of a share group is, from 0 to 1; at 1 its share-partition is given nothing new.",
        ("group",),
    ),
    MetricDeclaration(
        "share_partition_inflight_records",
        _GAUGE,
        "Records in flight of a share-partition, where there are any: those with the most.",
        ("group", "topic", "partition"),
    ),
    MetricDeclaration(
        "share_partition_inflight_batches",
        _GAUGE,
        "Runs of records in flight that are in the same state, of the same share-partitions.",
        ("group", "topic", "partition"),
    ),
    MetricDeclaration(
        "share_sessions_evicted",
        _COUNTER,
        "Share sessions that ended with their connection, without having been closed: what they held is released.",
    ),
    MetricDeclaration("share_groups", _GAUGE, "Share groups, by state.", ("state",)),
    MetricDeclaration("share_sessions", _GAUGE, "Share sessions open."),
    MetricDeclaration("share_partitions", _GAUGE, "Share-partitions held in memory."),
    MetricDeclaration("share_inflight_records", _GAUGE, "Records in flight over all share-partitions."),
    MetricDeclaration(
        "share_lag_records",
        _GAUGE,
        "Records that a share group has not finished, from its start offsets to the ends of the logs (KIP-1226), "
        "as far as they are known.",
        ("group",),
    ),
    MetricDeclaration(
        "share_oldest_unfinished_seconds",
        _GAUGE,
        "At least how long ago the first record was written that a share group has not finished; 0 without one.",
        ("group",),
    ),
)
"""What is told of share groups, in the order in which it is exposed."""
