"""`InMemoryAvailability`: the `Availability` port, driven by a `ManualClock` and by what the test says."""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.wake_keys import WakeKey
from kproxy.share.identifiers import SharePartitionKey, TopicId
from tests.in_memory.manual_clock import ManualClock

_TURNS: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    interest: Mapping[SharePartitionKey, int | None]
    isolation: IsolationLevel
    woken: asyncio.Future[None]
    news: set[SharePartitionKey] = field(default_factory=set)

    def wake(self, keys: Iterable[SharePartitionKey] = ()) -> None:
        self.news.update(keys)
        if not self.woken.done():
            self.woken.set_result(None)


class InMemoryAvailability:
    """Waits end by `raise_high_watermark`, by `signal`, or when the clock reaches `until_ms`.

    With `passes_time=True` a wait that would have to sleep moves the clock to its end itself and returns: for
    tests with a single task, where nobody else could advance the clock.
    """

    def __init__(self, clock: ManualClock, *, passes_time: bool = False) -> None:
        self.signalled: list[SharePartitionKey] = []
        self.waits: list[tuple[Mapping[SharePartitionKey, int | None], int]] = []
        """The share-partitions that each wait was for, and until when."""
        self._clock = clock
        self._passes_time = passes_time
        self._high_watermarks: dict[tuple[TopicId, int], int] = {}
        self._last_stable_offsets: dict[tuple[TopicId, int], int] = {}
        self._waiters: list[_Waiter] = []

    @property
    def waiter_count(self) -> int:
        """How many waits are asleep."""
        return len(self._waiters)

    def raise_high_watermark(
        self, topic_id: TopicId, partition: int, high_watermark: int, last_stable_offset: int | None = None
    ) -> None:
        """Make these known and wake those who miss an offset below that which counts for them.

        No `last_stable_offset` means that no transaction is open.
        """
        self._high_watermarks[topic_id, partition] = high_watermark
        self._last_stable_offsets[topic_id, partition] = (
            high_watermark if last_stable_offset is None else last_stable_offset
        )
        for waiter in self._waiters:
            if available := self._available(waiter.interest, waiter.isolation):
                waiter.wake(available)

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        awaited = {key: offset for key, offset in interest.items() if not isinstance(key, WakeKey)}
        self.waits.append((awaited, until_ms))
        if available := self._available(interest, isolation):
            return available
        waiter = _Waiter(interest, isolation, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            await self._sleep(waiter, until_ms)
        finally:
            self._waiters.remove(waiter)
        return waiter.news

    async def _sleep(self, waiter: _Waiter, until_ms: int) -> None:
        if self._passes_time or until_ms <= self._clock.now_ms():
            await _until_nobody_can_go_on(waiter.woken)
            if not waiter.woken.done():
                self._clock.advance(max(until_ms - self._clock.now_ms(), 0))
            return
        self._clock.call_at(until_ms, waiter.wake)
        await waiter.woken

    def signal(self, key: SharePartitionKey) -> None:
        self.signalled.append(key)
        for waiter in self._waiters:
            if key in waiter.interest:
                waiter.wake((key,))

    def _available(
        self, interest: Mapping[SharePartitionKey, int | None], isolation: IsolationLevel
    ) -> list[SharePartitionKey]:
        is_committed = isolation is IsolationLevel.READ_COMMITTED
        ends = self._last_stable_offsets if is_committed else self._high_watermarks
        return [
            key
            for key, missing_offset in interest.items()
            if missing_offset is not None and ends.get((key.topic_id, key.partition), -1) > missing_offset
        ]


async def _until_nobody_can_go_on(woken: asyncio.Future[None]) -> None:
    """Let all other tasks run: time passes when each of them waits, and no sooner."""
    for _ in range(_TURNS):
        if woken.done():
            return
        await asyncio.sleep(0)
