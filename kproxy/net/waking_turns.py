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

LONG_SECONDS: Final = 0.02
"""Nobody begins in a turn behind those who took longer than this in it."""


class WakingTurns:
    """A line of those who are about to begin, first come first served. It belongs to one event loop.

    Who comes when there is room in the turn, and nobody waits, goes on without a pause. The loop tells nobody when a
    turn ends, so a callback finds that out; for the first half of the room there is none, so that who begins alone
    costs the loop nothing. Those count until the next callback: a turn has room for half as many at least, and who
    comes long behind the first of them begins in the next turn, for nobody knows whether this is still the same one.

    Those who are woken go on right behind each other, so what else keeps the loop busy is not taken for theirs.
    """

    __slots__ = (
        "_again",
        "_are_waking",
        "_began_s",
        "_begun_count",
        "_is_turn_watched",
        "_line",
        "_most",
        "_seconds",
        "_unwatched",
    )

    def __init__(
        self, most: int = MOST_IN_A_TURN, *, seconds: Callable[[], float] = time.perf_counter
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._unwatched = most // 2
        self._begun_count = 0
        self._began_s: float | None = None
        """When the first of those began who are counted."""
        self._is_turn_watched = False
        self._are_waking = False
        """Whether there are some who were woken for this turn, and may not have gone on yet."""
        self._line: deque[asyncio.Future[None]] = deque()
        self._again: list[asyncio.Future[None]] = []
        """Who was woken in a turn that those before them had used up: they stand before the line."""

    def __len__(self) -> int:
        """How many wait for a later turn; who is cancelled counts until that."""
        return len(self._line) + len(self._again)

    async def begin(self) -> None:
        """Return when the caller may begin: at once, or in a later turn. Who is cancelled takes nobody's place."""
        if self._has_room():
            self._begun_count += 1
            if self._begun_count > self._unwatched:
                self._watch_turn()
            return
        self._watch_turn()
        await self._wait_in(self._line)
        while self._is_used_up():
            await self._wait_in(self._again)

    async def _wait_in(self, places: deque[asyncio.Future[None]] | list[asyncio.Future[None]]) -> None:
        place = asyncio.get_running_loop().create_future()
        places.append(place)
        await place

    def _has_room(self) -> bool:
        """Whether who comes now begins at once."""
        if self._line or self._are_waking or self._begun_count >= self._most:
            return False
        return not self._is_used_up()

    def _is_used_up(self) -> bool:
        """Whether those who began in this turn took long; notes when the first did."""
        now_s = self._seconds()
        if self._began_s is None:
            self._began_s = now_s
        return now_s - self._began_s > LONG_SECONDS

    def _watch_turn(self) -> None:
        if not self._is_turn_watched:
            self._is_turn_watched = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Let those begin whose turn it is: they do so in the next turn, before this is called again."""
        self._is_turn_watched = False
        self._begun_count = 0
        self._began_s = None
        self._line.extendleft(reversed(self._again))
        self._again.clear()
        while self._line and self._begun_count < self._most:
            place = self._line.popleft()
            if not place.done():
                place.set_result(None)
                self._begun_count += 1
        self._are_waking = self._begun_count > 0
        if self._are_waking:
            self._watch_turn()
