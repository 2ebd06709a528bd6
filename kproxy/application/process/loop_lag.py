"""`LoopLag`: how late the event loop is, measured all the time."""

import asyncio
from collections.abc import Callable
from typing import Final

from kproxy.net.counting import Observing

EVERY_SECONDS: Final = 0.1
"""Whatever holds the loop up for longer is seen each time; what is shorter as often as its share of this."""


class LoopLag:
    """Sleeps for a moment again and again while `run` goes on, which is for ever, and notes how late it wakes up."""

    def __init__(self, observing: Observing, *, seconds: Callable[[], float] | None = None) -> None:
        self._observing = observing
        self._seconds = seconds

    async def run(self) -> None:
        """Observe `event_loop_lag_seconds` ten times a second."""
        seconds = self._seconds or asyncio.get_running_loop().time
        while True:
            due_s = seconds() + EVERY_SECONDS
            await asyncio.sleep(EVERY_SECONDS)
            self._observing.observe("event_loop_lag_seconds", max(0.0, seconds() - due_s))
