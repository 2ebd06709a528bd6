"""`InMemoryAvailability`: the `Availability` port, driven by a `ManualClock` and by what the test says."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from kproxy.handlers.interest import Interest
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.wake_keys import WakeKey
from kproxy.share.identifiers import SharePartitionKey, TopicId
from tests.in_memory.manual_clock import ManualClock

_TURNS: Final = 20


class _Waiter:
    """One wait, or those for a wide interest until it ends."""

    def __init__(
        self, kept: Interest | None, isolation: IsolationLevel, leave: Callable[["_Waiter"], None]
    ) -> None:
        self.kept = kept
        self.isolation = isolation
        self.missing: dict[SharePartitionKey, int | None] = {}
        self.news: set[SharePartitionKey] = set() if kept is None else kept.news
        self.woken: asyncio.Future[None] | None = None
        self._leave = leave

    def register(
        self, interest: Mapping[SharePartitionKey, int | None], keys: Collection[SharePartitionKey]
    ) -> None:
        for key in keys:
            if key in interest:
                self.missing[key] = interest[key]
            else:
                self.missing.pop(key, None)
        if self.kept is not None:
            self.kept.registration = self
            self.kept.changed.clear()

    def wake(self, keys: Iterable[SharePartitionKey] = ()) -> None:
        self.news.update(keys)
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)

    def wake_for_records(self, keys: Collection[SharePartitionKey]) -> None:
        if self.woken is not None and keys:
            self.wake(keys)
        elif self.kept is not None:
            self.kept.changed.update(keys)

    def take_news(self) -> Collection[SharePartitionKey]:
        news = set(self.news)
        self.news.clear()
        return news

    def end(self) -> None:
        self._leave(self)


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
        """How many waits are asleep, or registered until their interest ends."""
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
            waiter.wake_for_records(self._available(waiter.missing, waiter.missing, waiter.isolation))

    async def wait(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        until_ms: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Collection[SharePartitionKey]:
        awaited = {key: offset for key, offset in dict(interest).items() if not isinstance(key, WakeKey)}
        self.waits.append((awaited, until_ms))
        waiter = self._waiter_of(interest, isolation)
        is_registered = waiter.kept is not None and waiter in self._waiters
        keys = waiter.kept.changed if waiter.kept is not None and is_registered else interest
        if available := {*waiter.take_news(), *self._available(interest, keys, isolation)}:
            return available
        waiter.register(interest, keys)
        if not is_registered:
            self._waiters.append(waiter)
        try:
            await self._sleep(waiter, until_ms)
            return waiter.take_news()
        finally:
            waiter.woken = None
            if waiter.kept is None:
                waiter.end()

    def _waiter_of(
        self, interest: Mapping[SharePartitionKey, int | None], isolation: IsolationLevel
    ) -> _Waiter:
        if not isinstance(interest, Interest) or not interest.is_wide:
            return _Waiter(None, isolation, self._waiters.remove)
        if isinstance(interest.registration, _Waiter) and interest.registration.isolation is isolation:
            return interest.registration
        interest.leave()
        return _Waiter(interest, isolation, self._waiters.remove)

    async def _sleep(self, waiter: _Waiter, until_ms: int) -> None:
        waiter.woken = woken = asyncio.get_running_loop().create_future()
        if self._passes_time or until_ms <= self._clock.now_ms():
            await _until_nobody_can_go_on(woken)
            if not woken.done():
                self._clock.advance(max(until_ms - self._clock.now_ms(), 0))
            return
        self._clock.call_at(until_ms, lambda: None if woken.done() else woken.set_result(None))
        await woken

    def signal(self, key: SharePartitionKey) -> None:
        self.signalled.append(key)
        for waiter in self._waiters:
            if key in waiter.missing:
                waiter.wake((key,))

    def _available(
        self,
        interest: Mapping[SharePartitionKey, int | None],
        keys: Iterable[SharePartitionKey],
        isolation: IsolationLevel,
    ) -> list[SharePartitionKey]:
        is_committed = isolation is IsolationLevel.READ_COMMITTED
        ends = self._last_stable_offsets if is_committed else self._high_watermarks
        return [
            key
            for key in keys
            if (missing_offset := interest.get(key)) is not None
            and ends.get((key.topic_id, key.partition), -1) > missing_offset
        ]


async def _until_nobody_can_go_on(woken: asyncio.Future[None]) -> None:
    """Let all other tasks run: time passes when each of them waits, and no sooner."""
    for _ in range(_TURNS):
        if woken.done():
            return
        await asyncio.sleep(0)
