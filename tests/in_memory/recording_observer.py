"""`RecordingObserver` and `RecordingAlarm`: the ports `Observer` and `Alarm`, which remember what they were told."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from kproxy.handlers.request_context import RequestContext


@dataclass(slots=True)
class RecordingObserver:
    """`counts` and `observations` by name and labels; `refusals` as pairs of reason and detail, and whose they were."""

    counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    observations: defaultdict[tuple[str, ...], list[float]] = field(default_factory=lambda: defaultdict(list))
    refusals: list[tuple[str, str]] = field(default_factory=list)
    contexts: list[RequestContext] = field(default_factory=list)

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        self.counts[(counter, *labels)] += amount

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        self.observations[(histogram, *labels)].append(value)

    def refused(self, context: RequestContext, *, reason: str, detail: str) -> None:
        self.contexts.append(context)
        self.refusals.append((reason, detail))

    @property
    def reasons(self) -> list[str]:
        """Why requests, or parts of them, were refused, in order."""
        return [reason for reason, _ in self.refusals]


@dataclass(slots=True)
class RecordingAlarm:
    """`deadlines_ms` in the order in which they were asked for."""

    deadlines_ms: list[int] = field(default_factory=list)

    def ring_by(self, deadline_ms: int) -> None:
        self.deadlines_ms.append(deadline_ms)
