"""`LoadTurns`: so many slots are loaded at once, and those that somebody waits for before the others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class LoadTurns:
    """Gives out `count` turns, in the order of asking; who is wanted when a turn is free goes before who is not."""

    def __init__(self, count: int) -> None:
        self._free_count = count
        self._queue: dict[asyncio.Future[None], Callable[[], bool]] = {}

    @asynccontextmanager
    async def turn(self, is_wanted: Callable[[], bool]) -> AsyncIterator[None]:
        """Wait for a turn, and have it for the time of a `with`. `is_wanted` is asked whenever a turn is free."""
        await self._take(is_wanted)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, is_wanted: Callable[[], bool]) -> None:
        if self._free_count > 0:
            self._free_count -= 1
            return
        given = asyncio.get_running_loop().create_future()
        self._queue[given] = is_wanted
        try:
            await given
        except asyncio.CancelledError:
            if given.done() and not given.cancelled():
                self._give_back()  # It was given in the turn of the loop in which the wait was cancelled.
            raise
        finally:
            self._queue.pop(given, None)

    def _give_back(self) -> None:
        """Hand the turn on, or keep it for whoever comes."""
        waiting = [given for given in self._queue if not given.done()]
        if not waiting:
            self._free_count += 1
            return
        first_wanted = next((given for given in waiting if self._queue[given]()), waiting[0])
        del self._queue[first_wanted]
        first_wanted.set_result(None)
