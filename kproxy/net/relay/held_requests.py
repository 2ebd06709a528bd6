"""`HeldRequests`: requests that wait until they are called, each with a timer of its own."""

import asyncio

from kproxy.handlers.ports import Clock
from kproxy.net.waking_turns import WakingTurns


class HeldRequests:
    """Implements `Waits`. All members of a group may be called together: those whose wait is over go on in `turns`."""

    def __init__(self, clock: Clock, turns: WakingTurns | None = None) -> None:
        self._clock = clock
        self._turns = turns if turns is not None else WakingTurns()
        self._called: dict[int, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._called)

    async def wait(self, connection_id: int, until_ms: int) -> None:
        """Return when the connection is called, or at `until_ms` (Clock)."""
        remaining_ms = until_ms - self._clock.now_ms()
        if remaining_ms <= 0:
            # Whoever asks again and again must not keep the loop from doing anything else.
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        called = self._called[connection_id] = loop.create_future()
        timer = loop.call_later(remaining_ms / 1000, self.call, connection_id)
        try:
            await called
        finally:
            timer.cancel()
            del self._called[connection_id]
        await self._turns.begin()

    def call(self, connection_id: int) -> None:
        """End the wait of a connection, if there is one."""
        called = self._called.get(connection_id)
        if called is not None and not called.done():
            called.set_result(None)
