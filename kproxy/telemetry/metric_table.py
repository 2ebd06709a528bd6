"""Every metric of kproxy: its name, kind, meaning and labels.

Labels hold fixed words, API names and version numbers; of what others named the ids of share groups, cut, and topics.
"""

from typing import Final

from kproxy.telemetry.metric_declaration import MetricDeclaration, MetricKind
from kproxy.telemetry.share_group_metrics import SHARE_GROUP_METRICS

_SIDES: Final = (("client",), ("broker",))
_REQUEST_BUCKETS: Final = (0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 30.0)
_COUNTER: Final = MetricKind.COUNTER
_GAUGE: Final = MetricKind.GAUGE

DECLARATIONS: Final = (
    # ------------------------------------------------ connections and requests
    MetricDeclaration("connections", _COUNTER, "Connections opened.", ("side",), _SIDES),
    MetricDeclaration(
        "connection_errors", _COUNTER, "Connections that ended on an error.", ("side", "reason")
    ),
    MetricDeclaration(
        "unknown_principals",
        _COUNTER,
        "Clients of share groups that authenticated by a SASL mechanism that does not tell kproxy who they are.",
    ),
    MetricDeclaration(
        "connections_refused",
        _COUNTER,
        "Client connections that were closed at once, for there were too many.",
        ("reason",),
        (("max_connections",), ("max_connections_per_ip",), ("max_unauthenticated_connections",)),
    ),
    MetricDeclaration(
        "open_file_shortages",
        _COUNTER,
        "Looks, one a second, at which this process had as many files open as it may: who connects is closed at once.",
    ),
    MetricDeclaration(
        "connections_expired",
        _COUNTER,
        "Client connections that were closed for they were idle, had sent no request in time, or were silent "
        "in a TLS handshake when others wanted their place; unanswered: idle while a broker owed an answer.",
        ("reason",),
        (("handshake_crowded",), ("idle",), ("no_request",), ("not_authenticated",), ("unanswered",)),
    ),
    MetricDeclaration(
        "connection_throttles",
        _COUNTER,
        "Times that a client was read no further for it had sent more requests per second than it may.",
    ),
    MetricDeclaration(
        "requests",
        _COUNTER,
        "Requests taken from clients, by what became of them.",
        ("api", "version", "disposition"),
    ),
    MetricDeclaration(
        "relay_added_seconds",
        MetricKind.HISTOGRAM,
        "How long kproxy itself held up a request (side client) or a response (side broker) that it passes on, in the "
        "turn of the event loop that takes it in; before that it may wait for event_loop_lag_seconds. One in seven is "
        "measured.",
        ("api", "side"),
        buckets=(0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25),
    ),
    MetricDeclaration(
        "share_subscriptions_refused", _COUNTER, "Heartbeats that named too many topics in all."
    ),
    MetricDeclaration(
        "requests_refused", _COUNTER, "Requests, or parts of one, answered with an error.", ("api", "reason")
    ),
    MetricDeclaration(
        "bytes",
        _COUNTER,
        "Bytes moved, seen from kproxy.",
        ("side", "direction"),
        (("client", "in"), ("client", "out"), ("broker", "in"), ("broker", "out")),
    ),
    MetricDeclaration(
        "keepalives", _COUNTER, "ApiVersions requests sent to keep silent broker connections open."
    ),
    MetricDeclaration(
        "tls_renewals",
        _COUNTER,
        "Changes of the files of TLS, by whether the new ones could be used.",
        ("role", "result"),
        tuple((role, result) for role in ("listener", "upstream", "fleet") for result in ("ok", "failed")),
    ),
    MetricDeclaration(
        "tls_certificate_expiry_timestamp_seconds",
        _GAUGE,
        "When the first certificate of those in use in a role expires, in seconds since 1970.",
        ("role",),
    ),
    MetricDeclaration(
        "broker_throttles",
        _COUNTER,
        "Answers by which a broker's quotas asked kproxy to send nothing for a while.",
    ),
    MetricDeclaration(
        "metadata_refreshes",
        _COUNTER,
        "Refreshes of the view of the backing cluster.",
        ("result",),
        (("ok",), ("failed",)),
    ),
    MetricDeclaration(
        "metadata_looks",
        _COUNTER,
        "Looks at the topics of share groups, by whether the answer was another one than before.",
        ("result",),
        (("same",), ("different",), ("failed",)),
    ),
    MetricDeclaration(
        "upstream_probe",
        _COUNTER,
        "Probes whether the backing cluster serves share groups itself.",
        ("result",),
    ),
    MetricDeclaration(
        "acl_looks",
        _COUNTER,
        "Questions for the access control lists of the backing cluster, by what came of them.",
        ("result",),
        (("same",), ("different",), ("no_authorizer",), ("refused",), ("failed",)),
    ),
    MetricDeclaration(
        "rights_questions",
        _COUNTER,
        "Questions to brokers about the rights of a client, on its own connection, by what came of them.",
        ("result",),
        (("answered",), ("failed",)),
    ),
    MetricDeclaration(
        "authorizer_source",
        _GAUGE,
        "What says who may do what to share groups: 1 for the source in use, 0 for the others.",
        ("source",),
    ),
    *SHARE_GROUP_METRICS,
    # ------------------------------------------------ the state log
    MetricDeclaration("statelog_records", _COUNTER, "Records written to the state log, durably.", ("topic",)),
    MetricDeclaration(
        "statelog_bytes", _COUNTER, "Bytes of the batches written to the state log, durably.", ("topic",)
    ),
    MetricDeclaration(
        "statelog_append_seconds",
        MetricKind.HISTOGRAM,
        "From the sending of an append to the state log to the news that it is durable.",
        buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
    ),
    MetricDeclaration(
        "statelog_replay_seconds",
        MetricKind.HISTOGRAM,
        "How long the loading of a slot took.",
        buckets=(0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0),
    ),
    MetricDeclaration("statelog_replayed_records", _COUNTER, "Records read when slots were loaded."),
    MetricDeclaration(
        "statelog_rebuilds",
        _COUNTER,
        "Slots that were forgotten in memory and built again from the log, or given up to another process.",
        ("reason",),
        (("unknown_outcome",), ("fenced",), ("foreign_write",), ("truncated",)),
    ),
    MetricDeclaration(
        "statelog_refusals",
        _COUNTER,
        "Appends to the state log that were given up and are certainly not in it.",
        ("reason",),
        (("refused",), ("late",)),
    ),
    MetricDeclaration(
        "statelog_truncations",
        _COUNTER,
        "Times that records of the state log were gone that had been durable.",
    ),
    MetricDeclaration(
        "statelog_lost_states",
        _COUNTER,
        "Share-partitions whose state was gone from the log, and that began anew at the start of their topic.",
    ),
    MetricDeclaration(
        "statelog_corrupt_slots", _COUNTER, "Slots that could not be loaded for a record that cannot be used."
    ),
    MetricDeclaration(
        "statelog_newer_formats",
        _COUNTER,
        "Times that the state log, or a slot of it, was refused because a newer kproxy wrote to it.",
    ),
    MetricDeclaration(
        "statelog_delays", _COUNTER, "Times that the state log, or a slot of it, could not be had for now."
    ),
    MetricDeclaration(
        "statelog_prunings",
        _COUNTER,
        "Deletions of old records of the state topic.",
        ("result",),
        (("ok",), ("failed",)),
    ),
    MetricDeclaration(
        "statelog_pruned_offset",
        _GAUGE,
        "Offset of the state topic below which this process has deleted the records of a slot, since it began.",
        ("partition",),
    ),
    MetricDeclaration("statelog_slots", _GAUGE, "Slots of the state log, by state.", ("state",)),
    # ------------------------------------------------ the fleet
    MetricDeclaration("fleet_members", _GAUGE, "Processes of the fleet, by what they do in it.", ("state",)),
    MetricDeclaration(
        "fleet_lease_seconds",
        _GAUGE,
        "For how long this process may serve its slots if it hears nothing more; 0 while it may serve none.",
    ),
    MetricDeclaration(
        "fleet_map_epoch", _GAUGE, "Epoch of the newest map of who owns which slots; -1 before any."
    ),
    MetricDeclaration("fleet_maps", _COUNTER, "Maps of who owns which slots that were taken over."),
    MetricDeclaration(
        "fleet_slot_moves",
        _COUNTER,
        "Slots that came to this process, that it was asked to hand over, and that it lost at once.",
        ("change",),
        (("taken",), ("given_up",), ("lost",)),
    ),
    MetricDeclaration(
        "peer_bytes",
        _COUNTER,
        "Bytes on connections to other kproxy processes: of clients here (relaying), of clients there (serving).",
        ("role", "direction"),
        (("relaying", "in"), ("relaying", "out"), ("serving", "in"), ("serving", "out")),
    ),
    MetricDeclaration(
        "peer_refusals", _COUNTER, "Connections to the internal listener that were refused.", ("reason",)
    ),
    MetricDeclaration(
        "relayed_requests",
        _COUNTER,
        "Requests relayed to the kproxy process that serves their group, by what became of them.",
        ("api", "result"),
    ),
    MetricDeclaration(
        "relayed_request_duration_seconds",
        MetricKind.HISTOGRAM,
        "From the turn of a request that another kproxy process serves to its answer, the wait for records included.",
        ("api",),
        buckets=_REQUEST_BUCKETS,
    ),
    MetricDeclaration(
        "peer_views",
        _COUNTER,
        "Questions to other kproxy processes for what they hold, by what became of them.",
        ("result",),
        (("answered",), ("failed",)),
    ),
    MetricDeclaration(
        "admin_requests_refused",
        _COUNTER,
        "Requests and connections of the admin port that were refused, by why.",
        ("reason",),
        tuple(
            (reason,)
            for reason in (
                *("host", "origin", "token", "too_large", "too_slow", "too_many", "malformed"),
                "reader_stalled",
            )
        ),
    ),
    MetricDeclaration(
        "admin_event_readers_refused",
        _COUNTER,
        "Readers of /api/v1/events that were refused, for as many listened as may.",
    ),
    MetricDeclaration(
        "admin_event_readers_cut_off",
        _COUNTER,
        "Readers of /api/v1/events that were cut off, for they did not keep up.",
    ),
    MetricDeclaration(
        "operator_actions",
        _COUNTER,
        "What operators asked for on the admin port of this process, by what became of it.",
        ("action", "result"),
        (
            ("unknown", "refused"),
            *(
                (action, result)
                for action in ("release", "accept", "archive", "end-session")
                for result in ("planned", "executed", "refused")
            ),
        ),
    ),
    # ------------------------------------------------ the process
    MetricDeclaration("connections_open", _GAUGE, "Connections open now.", ("side",)),
    MetricDeclaration(
        "buffered_bytes", _GAUGE, "Bytes held for peers that read more slowly than they are sent to."
    ),
    MetricDeclaration(
        "memory_budget_held_bytes",
        _GAUGE,
        "Bytes that count for kproxy.max.buffered.bytes: of held frames, of answers, and for slow peers.",
    ),
    MetricDeclaration(
        "memory_budget_bytes", _GAUGE, "How many of them there may be (kproxy.max.buffered.bytes)."
    ),
    MetricDeclaration(
        "connections_unauthenticated",
        _GAUGE,
        "Client connections whose client has yet to prove who it is; 0 where none has to.",
    ),
    MetricDeclaration(
        "event_loop_lag_seconds",
        MetricKind.HISTOGRAM,
        "How late the event loop runs a timer, ten times a second.",
        buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
    ),
    MetricDeclaration(
        "task_faults",
        _COUNTER,
        "Faults of kproxy's own in what it does beside requests, which it went on with; the log has a trace of each.",
        ("task",),
    ),
    MetricDeclaration(
        "build_info", _GAUGE, "Always 1; the labels say what runs.", ("version", "python", "commit")
    ),
    MetricDeclaration(
        "metrics_dropped_series",
        _COUNTER,
        "Counts and readings without a series of their own, for the metric has kproxy.metrics.max.series.",
        ("metric",),
    ),
    MetricDeclaration(
        "request_duration_seconds",
        MetricKind.HISTOGRAM,
        "From the turn of a request that kproxy serves to its answer, the wait for records included.",
        ("api",),
        buckets=_REQUEST_BUCKETS,
    ),
)
"""Every metric, in the order in which they are exposed."""
