"""What `kproxy.net` asks of whoever keeps the counters."""

from typing import Protocol


class Counting(Protocol):
    """Counters, as `kproxy.telemetry.metrics.Metrics` keeps them."""

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add to a declared counter."""
        ...


class Observing(Protocol):
    """Distributions, as `kproxy.telemetry.metrics.Metrics` keeps them."""

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        """Add an observation to a declared histogram."""
        ...


class Measuring(Counting, Observing, Protocol):
    """Both."""
