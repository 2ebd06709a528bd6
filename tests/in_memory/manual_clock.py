"""`ManualClock`: time that moves when a test says so. Serves as `Clock` and as `WallClock`."""

import heapq
from collections.abc import Callable
from itertools import count


class ManualClock:
    """Milliseconds that stand still until `advance`."""

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms
        self._order = count()
        self._appointments: list[tuple[int, int, Callable[[], None]]] = []

    def now_ms(self) -> int:
        return self._now_ms

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        """Have `callback` called by the `advance` that reaches `deadline_ms`; now if that is past already."""
        if deadline_ms <= self._now_ms:
            callback()
            return
        heapq.heappush(self._appointments, (deadline_ms, next(self._order), callback))

    def advance(self, by_ms: int) -> None:
        """Let `by_ms` pass, and make the calls that fall due, each at its own moment."""
        end_ms = self._now_ms + by_ms
        while self._appointments and self._appointments[0][0] <= end_ms:
            self._now_ms, _, callback = heapq.heappop(self._appointments)
            callback()
        self._now_ms = end_ms
