"""`ListingTurns`: few long lists are made at a time, however many clients ask for one."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Final

from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.memory.holder import Holder
from kproxy.net.relay.memory.waiting_line import WaitingLine, Wish

MOST_AT_ONCE: Final = 2
"""Lists that are made at a time: one may wait for another process, or for what its client may see."""

PATIENCE_SECONDS: Final = 10.0
"""For how long the others wait for one. It goes on then, and the next one begins beside it."""

ROOM_BYTES: Final = 256 * 1024
"""For so much there must be room before one begins; who takes no answers is ended for it (`BufferBudget.look`)."""


class ListingTurns:
    """Gives turns to those who make a list, clients one after the other, however many connections each has.

    Args:
        budget: that of all connections, in which there must be room, or which lets one in beyond its limit.
        most_at_once: how many have a turn at a time.
        patience_seconds: for how long one keeps others from theirs.
    """

    __slots__ = ("_budget", "_line", "_most_at_once", "_patience_seconds", "_turns", "_under_way_count")

    def __init__(
        self,
        budget: BufferBudget,
        *,
        most_at_once: int = MOST_AT_ONCE,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._budget = budget
        self._most_at_once = most_at_once
        self._patience_seconds = patience_seconds
        self._line = WaitingLine()
        self._turns: dict[int, _Turn] = {}
        self._under_way_count = 0

    @asynccontextmanager
    async def turn(self, connection_id: int, client: Hashable) -> AsyncIterator[None]:
        """Enter when it is the turn of a connection, which waits for one list at a time, or when it is forsaken."""
        turn = self._turns[connection_id] = _Turn(client)
        patience: asyncio.TimerHandle | None = None
        try:
            await self._wait_for_place(turn)
            await self._wait_for_room(turn)
            loop = asyncio.get_running_loop()
            patience = loop.call_later(self._patience_seconds, self._leave_place, turn)
            yield
        finally:
            if patience is not None:
                patience.cancel()
            del self._turns[connection_id]
            self._line.discard(turn)
            self._budget.release(turn)
            self._budget.leave_place(turn)
            self._leave_place(turn)

    def forsake(self, connection_id: int) -> None:
        """Let a connection that has ended wait no longer."""
        turn = self._turns.get(connection_id)
        if turn is not None:
            turn.is_forsaken = True
            turn.go_on()

    async def _wait_for_place(self, turn: "_Turn") -> None:
        self._line.add(turn, Wish(0, turn.go_on, is_answer=False, frame_bytes=0))
        self._let_in()
        if not turn.has_place:
            await turn.wait()

    async def _wait_for_room(self, turn: "_Turn") -> None:
        if turn.is_forsaken:
            return
        if not self._budget.hold(turn, 0, ROOM_BYTES, turn.go_on, is_answer=True):
            await turn.wait()
        # It may need the place beyond the limit to be let in. Others have that before the list is made, which is long.
        self._budget.leave_place(turn)

    def _leave_place(self, turn: "_Turn") -> None:
        if turn.has_place:
            turn.has_place = False
            self._under_way_count -= 1
            self._let_in()

    def _let_in(self) -> None:
        while len(self._line) and self._under_way_count < self._most_at_once:
            turn = self._line.oldest()
            assert isinstance(turn, _Turn)
            self._line.serve(turn)
            turn.has_place = True
            self._under_way_count += 1
            turn.go_on()


class _Turn(Holder):
    """One list that is made, or waits for that. What it takes counts for its connection; here it has its place."""

    __slots__ = ("_client", "_going_on", "has_place", "is_forsaken")

    may_be_ended = False
    is_awaited = False

    def __init__(self, client: Hashable) -> None:
        self._client = client
        self._going_on: asyncio.Future[None] | None = None
        self.has_place = self.is_forsaken = False

    @property
    def client(self) -> Hashable:
        """Return who asked."""
        return self._client

    def go_on(self) -> None:
        if self._going_on is not None and not self._going_on.done():
            self._going_on.set_result(None)

    async def wait(self) -> None:
        self._going_on = asyncio.get_running_loop().create_future()
        await self._going_on
