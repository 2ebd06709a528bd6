"""`TurnShares`: what all connections of a process look into in a turn of the loop, and who waits for the next one."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from kproxy.interception.turns.turn_share import WORK_A_TURN, CommonShare

_UNWATCHED: Final = WORK_A_TURN // 2


class TurnShares(CommonShare):
    """The share that the sessions of all connections have together. It belongs to one event loop.

    Who has little to do, and did little, goes on before all others, first come first served. But the others have half
    of the share at least, so that nobody is passed over for ever.

    The loop tells nobody when a turn ends, so a callback finds that out; for the first half of the share there is none,
    so that a connection alone costs the loop nothing. That counts until the next callback: a turn has half of the
    share at least.
    """

    __slots__ = ("_is_turn_watched", "_little", "_much")

    def __init__(self) -> None:
        super().__init__()
        self._is_turn_watched = False
        self._little: deque[Callable[[], None]] = deque()
        self._much: deque[Callable[[], None]] = deque()

    def __len__(self) -> int:
        """How many wait for a later turn."""
        return len(self._little) + len(self._much)

    def spend(self, work: int) -> None:
        """Count what was done in this turn."""
        self.left -= work
        if self.left < _UNWATCHED:
            self._watch_turn()

    def wait(self, go_on: Callable[[], None], *, is_little: bool) -> None:
        """Call `go_on`, which raises nothing, in a later turn."""
        (self._little if is_little else self._much).append(go_on)
        self._watch_turn()

    def _watch_turn(self) -> None:
        if not self._is_turn_watched:
            self._is_turn_watched = True
            asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        """Let go on who waited before this turn. Who waits again meanwhile has had this turn."""
        self._is_turn_watched = False
        self.left, self.turn = WORK_A_TURN, self.turn + 1
        much_count = len(self._much)
        try:
            self._let_go_on(self._little, len(self._little))
            if much_count:
                self.left = max(self.left, WORK_A_TURN // 2)
            self._let_go_on(self._much, much_count)
        finally:
            if len(self):
                self._watch_turn()

    def _let_go_on(self, waiting: deque[Callable[[], None]], count: int) -> None:
        """Let the first `count` of them go on while anything is left."""
        for _ in range(count):
            if self.left <= 0:
                break
            waiting.popleft()()
