"""`MetricDeclaration`: one row of the table of metrics."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PREFIX: Final = "kproxy_"


class MetricKind(StrEnum):
    """How a metric moves: only up, up and down, or as a distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricDeclaration:
    """One row of the table.

    `name` is what callers say: without `kproxy_` in front and, for a counter, without `_total` at the end.
    `initial` are label sets that stand at 0 from the start, so that a rate sees their first increment.
    `buckets` are the inclusive upper ends of a histogram, ascending and without infinity.
    """

    name: str
    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()
    initial: tuple[tuple[str, ...], ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def exposed_name(self) -> str:
        """The name that Prometheus sees."""
        return f"{PREFIX}{self.name}_total" if self.kind is MetricKind.COUNTER else f"{PREFIX}{self.name}"
