"""Every metric of kproxy: declared in one table, counted in plain integers, read at scrape time.

Counting is a dictionary update, without a lock, because everything that counts runs on the one event loop
that also serves the scrape. Gauges are read from the domain when they are scraped, so that they cannot drift.

Labels hold fixed words, API names and version numbers; of what peers sent the ids of share groups alone, cut. Should a
label grow without end, what comes after the first `max_series` label sets of a metric is counted under the label value
`other`; of a gauge it is left out.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from kproxy.telemetry.metric_declarations import MetricDeclaration, MetricKind

OTHER: Final = "other"
"""The label value of what found no series of its own."""

DEFAULT_MAX_SERIES: Final = 1000
"""`kproxy.metrics.max.series` where nobody set it."""

GaugeReading = float | Mapping[tuple[str, ...], float]
"""One number for a gauge without labels; with labels, a number per tuple of label values."""


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
        "requests",
        _COUNTER,
        "Requests taken from clients, by what became of them.",
        ("api", "version", "disposition"),
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
        "keepalives", _COUNTER, "ApiVersions requests sent to keep silent broker connections open."
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
    # ------------------------------------------------ share groups
    MetricDeclaration(
        "share_acknowledgements",
        _COUNTER,
        "Records acknowledged by share consumers.",
        ("type",),
        (("accept",), ("release",), ("reject",), ("gap",)),
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
        (("delivery_limit",), ("rejected",), ("gap",), ("log_start",)),
    ),
    MetricDeclaration("share_sessions_evicted", _COUNTER, "Share sessions evicted to make room for others."),
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
        "statelog_delays", _COUNTER, "Times that the state log, or a slot of it, could not be had for now."
    ),
    MetricDeclaration(
        "statelog_prunings",
        _COUNTER,
        "Deletions of old records of the state topic.",
        ("result",),
        (("ok",), ("failed",)),
    ),
    MetricDeclaration("statelog_slots", _GAUGE, "Slots of the state log, by state.", ("state",)),
    # ------------------------------------------------ the process
    MetricDeclaration("connections_open", _GAUGE, "Connections open now.", ("side",)),
    MetricDeclaration(
        "buffered_bytes", _GAUGE, "Bytes held for peers that read more slowly than they are sent to."
    ),
    MetricDeclaration("event_loop_lag_seconds", _GAUGE, "How late the event loop last ran a timer."),
    MetricDeclaration(
        "task_faults",
        _COUNTER,
        "Faults of kproxy's own in what it does beside requests, which it went on with; the log has a trace of each.",
        ("task",),
    ),
    MetricDeclaration("build_info", _GAUGE, "Always 1; the labels say what runs.", ("version", "python")),
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
    MetricDeclaration(
        "relayed_request_duration_seconds",
        MetricKind.HISTOGRAM,
        "From the turn of a request that another kproxy process serves to its answer, the wait for records included.",
        ("api",),
        buckets=_REQUEST_BUCKETS,
    ),
)
"""Every metric, in the order in which they are exposed."""


@dataclass(frozen=True, slots=True)
class Exposition:
    """What a scrape gets."""

    content_type: str
    body: bytes


class _Distribution:
    """The observations of one label set: how many fell into each bucket, and their sum."""

    __slots__ = ("bucket_counts", "total")

    def __init__(self, bucket_count: int) -> None:
        self.bucket_counts = [0] * (bucket_count + 1)
        self.total = 0.0


class Metrics:
    """The numbers of one process. Implements the `count` of the handlers' Observer port.

    An undeclared name, or another number of labels than declared, is a broken invariant: AssertionError. At
    most `max_series` label sets are kept per metric, the ones of the declaration included.
    """

    __slots__ = ("_counters", "_declared", "_distributions", "_gauges", "_max_series", "_registry")

    def __init__(self, max_series: int = DEFAULT_MAX_SERIES) -> None:
        self._max_series = max_series
        self._declared = {declaration.name: declaration for declaration in DECLARATIONS}
        self._counters: dict[str, dict[tuple[str, ...], int]] = {
            declaration.name: dict.fromkeys(declaration.initial if declaration.labels else ((),), 0)
            for declaration in DECLARATIONS
            if declaration.kind is MetricKind.COUNTER
        }
        self._distributions: dict[str, dict[tuple[str, ...], _Distribution]] = {
            declaration.name: {} for declaration in DECLARATIONS if declaration.kind is MetricKind.HISTOGRAM
        }
        self._gauges: dict[str, Callable[[], GaugeReading]] = {}
        self._registry = CollectorRegistry()
        self._registry.register(_Collector(self._families))
        ProcessCollector(registry=self._registry)

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add `amount` to a counter of the table; labels in the order of its declaration."""
        try:
            self._counters[counter][labels] += amount
        except KeyError:
            series = self._counters[self._declaration(counter, MetricKind.COUNTER).name]
            labels = self._bounded(counter, labels, series)
            series[labels] = series.get(labels, 0) + amount

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        """Add one observation to a histogram of the table; labels in the order of its declaration."""
        declaration = self._declaration(histogram, MetricKind.HISTOGRAM)
        series = self._distributions[histogram]
        if labels not in series:
            labels = self._bounded(histogram, labels, series)
            series.setdefault(labels, _Distribution(len(declaration.buckets)))
        distribution = series[labels]
        distribution.bucket_counts[bisect_left(declaration.buckets, value)] += 1
        distribution.total += value

    def register_gauge(self, gauge: str, read: Callable[[], GaugeReading]) -> None:
        """Let `read` answer for a gauge of the table at every scrape, on the event loop and without waiting.

        A gauge is registered once; one that is not registered is not exposed.
        """
        self._declaration(gauge, MetricKind.GAUGE)
        assert gauge not in self._gauges, f"gauge {gauge!r} is registered twice"
        self._gauges[gauge] = read

    def counted(self, counter: str, *labels: str) -> int:
        """Return what was counted so far; 0 for a label set that was never counted."""
        return self._counters[counter].get(labels, 0)

    def exposition(self, accept: str = "") -> Exposition:
        """Return everything: as OpenMetrics if the Accept header of the scraper asks for it, else as text."""
        encode, content_type = choose_encoder(accept)
        return Exposition(content_type, encode(self._registry))

    def _declaration(self, name: str, kind: MetricKind) -> MetricDeclaration:
        declaration = self._declared.get(name)
        assert declaration is not None, f"metric {name!r} is not declared in the table"
        assert declaration.kind is kind, f"metric {name!r} is a {declaration.kind}, not a {kind}"
        return declaration

    def _bounded(
        self, metric: str, labels: tuple[str, ...], series: Mapping[tuple[str, ...], object]
    ) -> tuple[str, ...]:
        declared = self._declared[metric].labels
        assert len(labels) == len(declared), f"metric {metric!r} has the labels {declared}, not {labels}"
        if len(series) < self._max_series:
            return labels
        self._count_dropped(metric)
        return (OTHER,) * len(declared)

    def _count_dropped(self, metric: str) -> None:
        dropped = self._counters["metrics_dropped_series"]
        dropped[(metric,)] = dropped.get((metric,), 0) + 1

    def _families(self) -> Iterator[Metric]:
        for declaration in DECLARATIONS:
            if declaration.kind is MetricKind.COUNTER:
                yield self._counter_family(declaration)
            elif declaration.kind is MetricKind.HISTOGRAM:
                yield self._histogram_family(declaration)
            elif declaration.name in self._gauges:
                yield self._gauge_family(declaration)

    def _counter_family(self, declaration: MetricDeclaration) -> CounterMetricFamily:
        name = declaration.exposed_name
        family = CounterMetricFamily(name, declaration.meaning, labels=declaration.labels)
        for labels, value in self._counters[declaration.name].items():
            family.add_metric(labels, value)
        return family

    def _gauge_family(self, declaration: MetricDeclaration) -> GaugeMetricFamily:
        family = GaugeMetricFamily(declaration.exposed_name, declaration.meaning, labels=declaration.labels)
        reading = self._gauges[declaration.name]()
        readings = reading if isinstance(reading, Mapping) else {(): reading}
        for position, (labels, value) in enumerate(readings.items()):
            assert len(labels) == len(declaration.labels), (
                f"gauge {declaration.name!r} was read with labels {labels}"
            )
            if position < self._max_series:
                family.add_metric(labels, value)
            else:
                self._count_dropped(declaration.name)
        return family

    def _histogram_family(self, declaration: MetricDeclaration) -> HistogramMetricFamily:
        family = HistogramMetricFamily(
            declaration.exposed_name, declaration.meaning, labels=declaration.labels
        )
        ends = [*(str(end) for end in declaration.buckets), "+Inf"]
        for labels, distribution in self._distributions[declaration.name].items():
            cumulative = accumulate(distribution.bucket_counts)
            family.add_metric(labels, list(zip(ends, cumulative, strict=True)), distribution.total)
        return family


class _Collector(Collector):
    """Prometheus' side of the table."""

    def __init__(self, families: Callable[[], Iterator[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return self._families()
