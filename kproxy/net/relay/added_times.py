"""`AddedTimes`: how long kproxy itself holds up what it passes on."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kproxy.interception.response_slots import ResponseSlot
from kproxy.net.observation import api_name

ONE_IN: Final = 7
"""Of so many requests and responses one is measured on average, which costs a microsecond."""


class Observe(Protocol):
    """Adds to a histogram, as `Metrics.observe` does."""

    def __call__(self, histogram: str, value: float, /, *labels: str) -> None:
        """Add one observation."""
        ...


def _ignore(_histogram: str, _value: float, /, *_labels: str) -> None:
    pass


class AddedTimes:
    """Measures turns of the loop in which a request or a response is taken in whole, changed and written.

    Such a turn counts on the client's side for the newest request that came, on the broker's for the oldest response
    that left. Parts that begin no request and end no response are not measured: they only wait for the rest, and a
    large frame that takes long in its last part has a dozen of them. Of the others one in `ONE_IN` is, and nothing of
    what streams by in large chunks, from the middle of a frame. Chance decides which: a client that asks the same again
    and again sends and gets the same number of parts each time, and with a fixed distance the one that takes long might
    never be the one that is measured. There is one for all connections: what is begun is ended in the same turn, or
    with the next part. `chance` draws from [0, 1).
    """

    __slots__ = ("_began_s", "_chance", "_newest", "_observe", "_oldest", "_seconds", "_to_come")

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
        self._newest: ResponseSlot | None = None
        self._to_come = 1

    def begin(self, owed: Sequence[ResponseSlot]) -> None:
        """Note that something came on a connection that is `owed` these responses."""
        self._to_come -= 1
        if self._to_come > 0:
            return
        self._oldest, self._newest = (owed[0], owed[-1]) if owed else (None, None)
        self._began_s = self._seconds()

    def end(self, side: str, owed: Sequence[ResponseSlot]) -> None:
        """Note that it was passed on; it came from `side`, and these responses are owed now."""
        if self._to_come > 0:
            return
        slot, was_there = self._oldest, owed[0] if owed else None
        if side == "client":
            slot, was_there = owed[-1] if owed else None, self._newest
        if slot is None or slot is was_there:
            self._to_come = 1
            return
        self._to_come = 1 + int(self._chance() * (2 * ONE_IN - 1))
        took_s = self._seconds() - self._began_s
        self._observe("relay_added_seconds", took_s, api_name(slot.api_key), side)
