"""`InMemoryWaits`: the `Waits` port, driven by a `ManualClock` and by who calls."""

import asyncio

from tests.in_memory.manual_clock import ManualClock


class InMemoryWaits:
    """Waits end by `call`, or when the clock reaches `until_ms`.

    With `passes_time=True` a wait moves the clock to its end itself and returns: for tests with a single task.
    """

    def __init__(self, clock: ManualClock, *, passes_time: bool = False) -> None:
        self._clock = clock
        self._passes_time = passes_time
        self._called: dict[int, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._called)

    async def wait(self, connection_id: int, until_ms: int) -> None:
        if until_ms <= self._clock.now_ms():
            return
        if self._passes_time:
            self._clock.advance(until_ms - self._clock.now_ms())
            return
        called = self._called[connection_id] = asyncio.get_running_loop().create_future()
        self._clock.call_at(until_ms, lambda: None if called.done() else called.set_result(None))
        try:
            await called
        finally:
            del self._called[connection_id]

    def call(self, connection_id: int) -> None:
        called = self._called.get(connection_id)
        if called is not None and not called.done():
            called.set_result(None)
