"""`WakingTurns`: only so many begin in one turn of the event loop, and the others in the next ones.

A hundred requests may arrive together, or a hundred fetches be woken by one record, or thousands of requests have
waited at the door for the state log. Each takes some 0.4 ms until it first waits for something, so a hundred in one
turn would keep everybody else from the loop for 40 ms. Few take much longer: a heartbeat whose member is assigned ten
thousand partitions takes 30 ms.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

MOST_IN_A_TURN: Final = 16
"""How many begin in one turn: some 6 ms."""

LONG_TURN_SECONDS: Final = 0.02
"""After a turn that took longer half as many begin, one at least, and after another twice as many, up to the most."""


class WakingTurns:
    """A line of those who are about to begin, first come first served. It belongs to one event loop.

    Who comes when there is room in the turn, and nobody waits, goes on without a pause. The loop tells nobody when a
    turn ends, so a callback finds that out; for the first half of the room there is none, so that who begins alone
    costs the loop nothing. Those count until the next callback: a turn has room for half as many at least.
    """

    __slots__ = (
        "_begun_count",
        "_is_turn_watched",
        "_line",
        "_most",
        "_room",
        "_seconds",
        "_unwatched",
        "_woke_s",
    )

    def __init__(
        self, most: int = MOST_IN_A_TURN, *, seconds: Callable[[], float] = time.perf_counter
    ) -> None:
        self._most = self._room = most
        self._seconds = seconds
        self._woke_s: float | None = None
        self._unwatched = most // 2
        self._begun_count = 0
        self._is_turn_watched = False
        self._line: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        """How many wait for a later turn; who is cancelled counts until that."""
        return len(self._line)

    async def begin(self) -> None:
        """Return when the caller may begin: at once, or in a later turn. Who is cancelled takes nobody's place."""
        if self._begun_count < self._most and not self._line:
            self._begun_count += 1
            if self._begun_count > self._unwatched:
                self._watch_turn()
            return
        place = asyncio.get_running_loop().create_future()
        self._line.append(place)
        await place

    def _watch_turn(self) -> None:
        if not self._is_turn_watched:
            self._is_turn_watched = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Let those begin whose turn it is: they do so in the next turn, before this is called again."""
        self._is_turn_watched = False
        self._begun_count = 0
        self._make_room()
        if self._line:
            # Right before those who are woken: what else is done in between is not their work.
            asyncio.get_running_loop().call_soon(self._note_begin)
        while self._line and self._begun_count < self._room:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                self._begun_count += 1
        if self._begun_count:
            self._watch_turn()

    def _note_begin(self) -> None:
        self._woke_s = self._seconds()

    def _make_room(self) -> None:
        """Say how many may begin now, by how long those took that were woken last: they went on right before this."""
        if self._woke_s is None:
            return
        is_long = self._seconds() - self._woke_s > LONG_TURN_SECONDS
        self._room = max(self._room // 2, 1) if is_long else min(2 * self._room, self._most)
        self._woke_s = None
