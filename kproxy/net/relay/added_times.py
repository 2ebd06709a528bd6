"""`AddedTimes`: how long kproxy itself holds up what it passes on."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kproxy.interception.response_slots import ResponseSlot
from kproxy.net.observation import api_name

ONE_IN: Final = 7
"""Of so many parts one is measured on average, which costs a microsecond."""


class Observe(Protocol):
    """Adds to a histogram, as `Metrics.observe` does."""

    def __call__(self, histogram: str, value: float, /, *labels: str) -> None:
        """Add one observation."""
        ...


def _ignore(_histogram: str, _value: float, /, *_labels: str) -> None:
    pass


class AddedTimes:
    """Measures turns of the loop in which a part of a request or a response is taken in, changed and written.

    A part of a request counts for the newest request of its connection, one of a response for the oldest that is owed.
    One part in `ONE_IN` is measured, and nothing of what streams by in large chunks, from the middle of a frame. Chance
    decides which: a client that asks the same again and again sends and gets the same number of parts each time, and
    with a fixed distance the one that takes long might never be the one that is measured. There is one for all
    connections: what is begun is ended in the same turn, or with the next part. `chance` draws from [0, 1).
    """

    __slots__ = ("_began_s", "_chance", "_observe", "_oldest", "_seconds", "_to_come")

    def __init__(
        self,
        observe: Observe = _ignore,
        *,
        seconds: Callable[[], float] = time.perf_counter,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._observe = observe
        self._seconds = seconds
        self._chance = chance
        self._began_s = 0.0
        self._oldest: ResponseSlot | None = None
        self._to_come = 1

    def begin(self, owed: Sequence[ResponseSlot]) -> None:
        """Note that something came on a connection that is `owed` these responses."""
        self._to_come -= 1
        if self._to_come > 0:
            return
        self._oldest = owed[0] if owed else None
        self._began_s = self._seconds()

    def end(self, side: str, owed: Sequence[ResponseSlot]) -> None:
        """Note that it was passed on; it came from `side`, and these responses are owed now."""
        if self._to_come > 0:
            return
        self._to_come = 1 + int(self._chance() * (2 * ONE_IN - 1))
        slot = self._oldest
        if side == "client":
            slot = owed[-1] if owed else None
        if slot is not None:
            took_s = self._seconds() - self._began_s
            self._observe("relay_added_seconds", took_s, api_name(slot.api_key), side)
