"""`InMemoryAvailability`: the `Availability` port, driven by a `ManualClock` and by what the test says."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from kproxy.share.identifiers import SharePartitionKey, TopicId
from tests.in_memory.manual_clock import ManualClock


@dataclass(frozen=True, slots=True)
class _Waiter:
    interest: Mapping[SharePartitionKey, int | None]
    woken: asyncio.Future[None]

    def wake(self) -> None:
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
        self._clock = clock
        self._passes_time = passes_time
        self._high_watermarks: dict[tuple[TopicId, int], int] = {}
        self._waiters: list[_Waiter] = []

    @property
    def waiter_count(self) -> int:
        """How many waits are asleep."""
        return len(self._waiters)

    def raise_high_watermark(self, topic_id: TopicId, partition: int, high_watermark: int) -> None:
        """Make `high_watermark` known and wake those who miss an offset below it."""
        self._high_watermarks[topic_id, partition] = high_watermark
        for waiter in self._waiters:
            if self._is_available(waiter.interest):
                waiter.wake()

    async def wait(self, interest: Mapping[SharePartitionKey, int | None], until_ms: int) -> None:
        self.waits.append((dict(interest), until_ms))
        if self._is_available(interest) or until_ms <= self._clock.now_ms():
            return
        if self._passes_time:
            self._clock.advance(until_ms - self._clock.now_ms())
            return
        waiter = _Waiter(interest, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._clock.call_at(until_ms, waiter.wake)
        try:
            await waiter.woken
        finally:
            self._waiters.remove(waiter)

    def signal(self, key: SharePartitionKey) -> None:
        self.signalled.append(key)
        for waiter in self._waiters:
            if key in waiter.interest:
                waiter.wake()

    def _is_available(self, interest: Mapping[SharePartitionKey, int | None]) -> bool:
        return any(
            missing_offset is not None
            and self._high_watermarks.get((key.topic_id, key.partition), -1) > missing_offset
            for key, missing_offset in interest.items()
        )
