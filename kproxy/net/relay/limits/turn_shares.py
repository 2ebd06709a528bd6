"""`TurnShares`: what all connections of a process do at once in a turn of the loop, and who waits for the next one."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from kproxy.interception.turns.turn_share import WORK_A_TURN, TurnShare

_UNWATCHED: Final = WORK_A_TURN // 2


class TurnShares(TurnShare):
    """The share that the sessions of all connections have together. It belongs to one event loop.

    The loop tells nobody when a turn ends, so a callback finds that out; for the first half of the share there is none,
    so that a connection alone costs the loop nothing. That counts until the next callback: a turn has half of the
    share at least.
    """

    __slots__ = ("_is_turn_watched", "_line")

    def __init__(self) -> None:
        super().__init__()
        self._is_turn_watched = False
        self._line: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        """How many wait for a later turn."""
        return len(self._line)

    def enter(self) -> None:
        """Do nothing: others are called in the same turn."""

    def spend(self, work: int) -> None:
        """Count what was done in this turn."""
        self.left -= work
        if self.left < _UNWATCHED:
            self._watch_turn()

    def wait(self, go_on: Callable[[], None]) -> None:
        """Call `go_on` in a later turn in which anything is left: first come first served."""
        self._line.append(go_on)
        self._watch_turn()

    def _watch_turn(self) -> None:
        if not self._is_turn_watched:
            self._is_turn_watched = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._is_turn_watched = False
        self.left = WORK_A_TURN
        try:
            while self._line and self.left > 0:
                self._line.popleft()()
        finally:
            if self._line:
                self._watch_turn()
