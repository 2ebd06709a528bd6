"""`DialTurns`: how many connections to one address are in the making at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from kproxy.net.broker_failures import PeerFailure
from kproxy.settings.addresses import HostPort
from kproxy.wording import counted

_LEAST_MS: Final = 1
"""What is left at least of the time of who had a turn."""


class DialTurns:
    """Turns for each address, given in the order asked; `most` at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: WeakValueDictionary[HostPort, asyncio.Semaphore] = WeakValueDictionary()

    def __len__(self) -> int:
        """How many addresses are dialled."""
        return len(self._places)

    @asynccontextmanager
    async def turn(self, address: HostPort, timeout_ms: int) -> AsyncIterator[int]:
        """Have a turn, and say how many milliseconds are left of `timeout_ms`, at least 1. Raises PeerFailure."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        places = self._places.setdefault(address, asyncio.Semaphore(self._most))
        try:
            async with asyncio.timeout_at(deadline):
                await places.acquire()
        except TimeoutError:
            others = counted(self._most, "other dial")
            detail = f"{others} of {address} did not end within {timeout_ms} ms"
            raise PeerFailure("crowded", detail) from None
        try:
            yield max(_LEAST_MS, int((deadline - loop.time()) * 1000))
        finally:
            places.release()
