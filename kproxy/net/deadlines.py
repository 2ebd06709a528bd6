"""Clocks, and the one timer that ends locks and sessions."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Protocol

from kproxy.handlers.ports import Clock
from kproxy.net.tasks import FAULT_PAUSE_SECONDS, TaskKeeper

LEAST_PAUSE_MS = 5
"""Between two expiries at least, so that a source whose deadline never moves cannot keep the loop busy."""


class MonotonicClock:
    """`Clock`: milliseconds since some fixed moment, never backwards."""

    def now_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


class SystemWallClock:
    """`WallClock`: milliseconds since the epoch, for timestamps only: it can jump."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000


class DeadlineSource(Protocol):
    """Something of the core that changes by the mere passing of time: locks, sessions, members."""

    def next_deadline_ms(self) -> int | None:
        """Return the earliest moment (Clock) at which `expire` would do something, None for never."""
        ...

    def expire(self, now_ms: int) -> Coroutine[object, object, None]:
        """End what has fallen due by `now_ms`, or some of it; return what is left to wait for."""
        ...


class Deadlines:
    """Implements `Alarm` with one loop timer set to the earliest deadline of all sources.

    When it rings, each source whose deadline has come is asked to `expire`, and the timer is set anew. What a
    source then waits for holds up nobody: it runs as a task of its own. A source that raises is noted, and the
    others go on; one that cannot say its deadline is asked again after a second. None is asked to `expire` before it.
    """

    def __init__(self, clock: Clock, tasks: TaskKeeper) -> None:
        self._clock = clock
        self._tasks = tasks
        self._sources: list[DeadlineSource] = []
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at_ms: int | None = None
        self._is_closed = False

    def add(self, source: DeadlineSource) -> None:
        """Look after the deadlines of `source` from now on."""
        self._sources.append(source)
        self._ring_for_the_earliest(not_before_ms=0)

    def ring_by(self, deadline_ms: int) -> None:
        """Make sure that sources are asked no later than `deadline_ms` (Clock)."""
        if self._is_closed or (self._rings_at_ms is not None and self._rings_at_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = max(0, deadline_ms - self._clock.now_ms())
        self._rings_at_ms = deadline_ms
        self._timer = asyncio.get_running_loop().call_later(delay_ms / 1000, self._ring)

    def close(self) -> None:
        """Ring no more."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        self._rings_at_ms = None
        for source in tuple(self._sources):
            self._expire(source)
        self._ring_for_the_earliest(not_before_ms=self._clock.now_ms() + LEAST_PAUSE_MS)

    def _expire(self, source: DeadlineSource) -> None:
        now_ms = self._clock.now_ms()
        deadline_ms = self._deadline_of(source)
        if deadline_ms is None or deadline_ms > now_ms:
            return
        try:
            waiting = source.expire(now_ms)
        except Exception as fault:  # noqa: BLE001 - the top of a callback: the other sources must go on
            self._tasks.note_fault("deadlines", fault)
            return
        self._tasks.spawn(waiting, name=f"what {type(source).__name__} expired")

    def _deadline_of(self, source: DeadlineSource) -> int | None:
        try:
            return source.next_deadline_ms()
        except Exception as fault:  # noqa: BLE001 - likewise
            self._tasks.note_fault("deadlines", fault)
            return self._clock.now_ms() + round(FAULT_PAUSE_SECONDS * 1000)

    def _ring_for_the_earliest(self, *, not_before_ms: int) -> None:
        deadlines_ms = [self._deadline_of(source) for source in self._sources]
        earliest_ms = min(
            (deadline_ms for deadline_ms in deadlines_ms if deadline_ms is not None), default=None
        )
        if earliest_ms is not None:
            self.ring_by(max(earliest_ms, not_before_ms))
