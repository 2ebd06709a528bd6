"""What Prometheus scrapes, piece by piece, so that nobody waits for very many series.

prometheus_client writes every sample; it is only given a few of them at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric

V = TypeVar("V")

SAMPLES_AT_ONCE: Final = 500
"""So many take some two milliseconds to write."""

_END: Final = b"# EOF\n"

Part = tuple[Metric, bool]
"""Some of the series of a metric, and whether they are the first ones."""

Series = Mapping[tuple[str, ...], V]


def parts_of(
    series: Series[V],
    family: Callable[[Iterable[tuple[tuple[str, ...], V]]], Metric],
    *,
    samples_each: int = 1,
) -> Iterator[Part]:
    """Yield what `family` makes of `series`, as they are now, in parts; one part of a metric without series."""
    items = tuple(series.items())
    count = max(SAMPLES_AT_ONCE // samples_each, 1)
    for begin in range(0, max(len(items), 1), count):
        yield family(items[begin : begin + count]), begin == 0


def portions(parts: Iterable[Part], encode: Callable[[CollectorRegistry], bytes]) -> Iterator[bytes]:
    """Yield the text of `parts`, one after the other, and the end where the format has one."""
    end = b""
    for metric, is_first in parts:
        text = encode(_OneMetric(metric))
        if text.endswith(_END):
            text, end = text.removesuffix(_END), _END
        yield text if is_first else _without_head(text)
    yield end


def _without_head(text: bytes) -> bytes:
    """Return the samples alone: what a metric is was said before."""
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"# "))


class _OneMetric(CollectorRegistry):
    """What the encoder takes for a registry."""

    def __init__(self, metric: Metric) -> None:
        super().__init__()
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        return iter((self._metric,))
