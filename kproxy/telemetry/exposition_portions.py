"""What Prometheus scrapes, piece by piece, so that nobody waits for very many series.

prometheus_client says what a metric is, in the format that the scraper asks for. The samples are written here: they are
the same in both formats, and there may be tens of thousands of them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Protocol, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

from kproxy.telemetry.metric_declaration import MetricDeclaration

V = TypeVar("V")

SAMPLES_AT_ONCE: Final = 1_000
"""So many take about a millisecond to write."""

END: Final = b"# EOF\n"
"""How OpenMetrics ends."""

Encode = Callable[[CollectorRegistry], bytes]
Labelled = tuple[tuple[str, ...], V]
"""A value with its label values, in the order of the declaration."""

_ESCAPES: Final = {ord("\\"): "\\\\", ord("\n"): "\\n", ord('"'): '\\"'}


class Observed(Protocol):
    """The observations of one label set of a histogram."""

    bucket_counts: list[int]
    """How many fell into each bucket, the one above all ends included."""
    total: float


def encoded(metrics: Iterable[Metric], encode: Encode) -> bytes:
    """Return `metrics` as the library writes them, without an end."""
    return b"".join(encode(_OneMetric(metric)).removesuffix(END) for metric in metrics)


def head(declaration: MetricDeclaration, encode: Encode) -> bytes:
    """Return what is said of a metric in front of its samples."""
    metric = Metric(declaration.exposed_name.removesuffix("_total"), declaration.meaning, declaration.kind)
    return encoded([metric], encode)


def samples(declaration: MetricDeclaration, series: Sequence[Labelled[float]]) -> Iterator[bytes]:
    """Yield the lines of a counter or a gauge, `SAMPLES_AT_ONCE` at a time."""
    name = declaration.exposed_name
    for begin in range(0, len(series), SAMPLES_AT_ONCE):
        lines = [
            f"{name}{_braced(_pairs(declaration, labels))} {_number(value)}\n"
            for labels, value in series[begin : begin + SAMPLES_AT_ONCE]
        ]
        yield "".join(lines).encode()


def distributions(declaration: MetricDeclaration, series: Sequence[Labelled[Observed]]) -> Iterator[bytes]:
    """Yield the lines of a histogram likewise."""
    name = declaration.exposed_name
    ends = [f'le="{end}"' for end in (*declaration.buckets, "+Inf")]
    count = max(SAMPLES_AT_ONCE // (len(ends) + 2), 1)
    for begin in range(0, len(series), count):
        lines: list[str] = []
        for labels, observed in series[begin : begin + count]:
            pairs = _pairs(declaration, labels)
            before_end = f"{name}_bucket{{{pairs},".replace("{,", "{")
            counts = list(accumulate(observed.bucket_counts))
            lines += [f"{before_end}{end}}} {below}.0\n" for end, below in zip(ends, counts, strict=True)]
            lines.append(f"{name}_count{_braced(pairs)} {counts[-1]}.0\n")
            lines.append(f"{name}_sum{_braced(pairs)} {_number(observed.total)}\n")
        yield "".join(lines).encode()


def _pairs(declaration: MetricDeclaration, labels: tuple[str, ...]) -> str:
    return ",".join(
        [f'{name}="{_escaped(value)}"' for name, value in zip(declaration.labels, labels, strict=True)]
    )


def _braced(pairs: str) -> str:
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.translate(_ESCAPES) if "\\" in value or "\n" in value or '"' in value else value


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")


class _OneMetric(CollectorRegistry):
    """What the encoder takes for a registry."""

    def __init__(self, metric: Metric) -> None:
        super().__init__()
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        return iter((self._metric,))
