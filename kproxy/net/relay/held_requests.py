"""`HeldRequests`: requests that wait until they are called, each with a timer of its own."""

import asyncio

from kproxy.handlers.ports import Clock


class HeldRequests:
    """Implements `Waits`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
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

    def call(self, connection_id: int) -> None:
        """End the wait of a connection, if there is one."""
        called = self._called.get(connection_id)
        if called is not None and not called.done():
            called.set_result(None)
