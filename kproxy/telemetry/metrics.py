"""`Metrics`: the numbers of a process: declared in one table, counted in plain integers, read at scrape time.

Counting is a dictionary update, without a lock, because everything that counts runs on the one event loop
that also serves the scrape. Gauges are read from the domain when they are scraped, so that they cannot drift.

Should a label grow without end, what comes after the first `max_series` label sets of a metric is counted under the
label value `other`; of a gauge it is left out.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder

from kproxy.telemetry.exposition_portions import Encode, distributions, encoded, head, samples
from kproxy.telemetry.metric_declaration import MetricDeclaration, MetricKind
from kproxy.telemetry.metric_table import DECLARATIONS

OTHER: Final = "other"
"""The label value of what found no series of its own."""

DEFAULT_MAX_SERIES: Final = 1000
"""`kproxy.metrics.max.series` where nobody set it."""

GaugeReading = float | Mapping[tuple[str, ...], float]
"""One number for a gauge without labels; with labels, a number per tuple of label values."""


CounterReading = int | Mapping[tuple[str, ...], int]
"""The same for a counter that somebody else counts."""


@dataclass(frozen=True, slots=True)
class Exposition:
    """What a scrape gets."""

    content_type: str
    body: bytes


class _Distribution:
    """The observations of one label set: how many fell into each bucket, and their sum."""

    __slots__ = ("bucket_counts", "ends", "total")

    def __init__(self, ends: Sequence[float]) -> None:
        self.ends = ends
        self.bucket_counts = [0] * (len(ends) + 1)
        self.total = 0.0


class Metrics:
    """The numbers of one process. Implements the `count` of the handlers' Observer port.

    An undeclared name, or another number of labels than declared, is a broken invariant: AssertionError. At
    most `max_series` label sets are kept per metric, the ones of the declaration included.
    """

    __slots__ = (
        "_counters",
        "_declared",
        "_distributions",
        "_gauges",
        "_max_series",
        "_process",
        "_read_counters",
    )

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
        self._read_counters: dict[str, Callable[[], CounterReading]] = {}
        self._process = ProcessCollector(registry=None)

    @property
    def max_series(self) -> int:
        """How many series a metric has at most."""
        return self._max_series

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
        try:
            distribution = self._distributions[histogram][labels]
        except KeyError:
            distribution = self._new_distribution(histogram, labels)
        distribution.bucket_counts[bisect_left(distribution.ends, value)] += 1
        distribution.total += value

    def register_gauge(self, gauge: str, read: Callable[[], GaugeReading]) -> None:
        """Let `read` answer for a gauge of the table at every scrape, on the event loop and without waiting.

        A gauge is registered once; one that is not registered is not exposed.
        """
        self._declaration(gauge, MetricKind.GAUGE)
        assert gauge not in self._gauges, f"gauge {gauge!r} is registered twice"
        self._gauges[gauge] = read

    def register_counter(self, counter: str, read: Callable[[], CounterReading]) -> None:
        """Let `read` answer for a counter of the table at every scrape, which somebody else counts in plain integers.

        It is asked on the event loop, does not wait, and never answers less than before. Nobody calls `count` for it.
        """
        self._declaration(counter, MetricKind.COUNTER)
        assert counter not in self._read_counters, f"counter {counter!r} is registered twice"
        self._read_counters[counter] = read

    def counted(self, counter: str, *labels: str) -> int:
        """Return what was counted so far; 0 for a label set that was never counted."""
        return self._counters[counter].get(labels, 0)

    def exposition(self, accept: str = "") -> Exposition:
        """Return everything: as OpenMetrics if the Accept header of the scraper asks for it, else as text."""
        content_type, portions = self.portions(accept)
        return Exposition(content_type, b"".join(portions))

    def portions(self, accept: str = "") -> tuple[str, Iterator[bytes]]:
        """Return the content type, and the same piece by piece: each takes some milliseconds to make, when it is due.

        A metric is read when its first piece is made: what changes between two pieces of it is not in the second.
        """
        encode, content_type = choose_encoder(accept)
        return content_type, self._portions(encode)

    def _new_distribution(self, histogram: str, labels: tuple[str, ...]) -> _Distribution:
        declaration = self._declaration(histogram, MetricKind.HISTOGRAM)
        series = self._distributions[histogram]
        return series.setdefault(self._bounded(histogram, labels, series), _Distribution(declaration.buckets))

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

    def _count_dropped(self, metric: str, count: int = 1) -> None:
        dropped = self._counters["metrics_dropped_series"]
        dropped[(metric,)] = dropped.get((metric,), 0) + count

    def _portions(self, encode: Encode) -> Iterator[bytes]:
        for declaration in DECLARATIONS:
            if declaration.kind is MetricKind.GAUGE and declaration.name not in self._gauges:
                continue
            yield head(declaration, encode)
            match declaration.kind:
                case MetricKind.COUNTER:
                    yield from samples(declaration, tuple(self._counts(declaration).items()))
                case MetricKind.GAUGE:
                    yield from samples(declaration, tuple(self._readings(declaration).items()))
                case MetricKind.HISTOGRAM:
                    series = tuple(self._distributions[declaration.name].items())
                    yield from distributions(declaration, series)
        yield encoded(self._process.collect(), encode)
        yield encode(CollectorRegistry())  # of nothing more than the end, where there is one

    def _counts(self, declaration: MetricDeclaration) -> Mapping[tuple[str, ...], int]:
        read = self._read_counters.get(declaration.name)
        if read is None:
            return self._counters[declaration.name]
        reading = read()
        return reading if isinstance(reading, Mapping) else {(): reading}

    def _readings(self, declaration: MetricDeclaration) -> Mapping[tuple[str, ...], float]:
        reading = self._gauges[declaration.name]()
        readings = reading if isinstance(reading, Mapping) else {(): reading}
        assert all(len(labels) == len(declaration.labels) for labels in readings), (
            f"gauge {declaration.name!r} was read with labels {next(iter(readings))}"
        )
        if len(readings) > self._max_series:
            self._count_dropped(declaration.name, len(readings) - self._max_series)
        return dict(islice(readings.items(), self._max_series))
