"""Once a second: stalled frames, silent twins, peers that stand still, brokers that moved, clients that must ask anew.

Some connections in a turn of the event loop, and the others in those behind it. And the way out: a drain of them all.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from kproxy.net.relay.relay import OpenConnection, Relay

_SWEEP_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.1
"""How often those are looked at for which others wait for room."""

_DRAIN_STEP_SECONDS: Final = 0.05
_ENDING_STEP_SECONDS: Final = 0.01
_SWEPT_A_TURN: Final = 100
"""Connections looked at before everybody else has a turn: 10,000 of them take 70 ms."""

_DRAIN_WAVE: Final = 50
"""Connections closed per step: their clients come back to another process, not all at once."""


class Sweeper:
    """Walks over the relayed connections, and looks after the budget of them all, and of those of other sweepers.

    What `standing_bytes` returns counts for it. None: another sweeper looks after it.
    """

    def __init__(self, relay: Relay, standing_bytes: Callable[[], int] | None) -> None:
        self._relay = relay
        self._standing_bytes = standing_bytes
        self._looked_s = 0.0

    async def run(self) -> None:
        """Sweep for ever, a second apart; the interval is bounded below by half of the shortest limit."""
        limits = self._relay.limits
        shortest_ms = min(
            limits.keepalive_ms, limits.frame_deadline_ms, limits.client_idle_ms, limits.handshake_deadline_ms
        )
        pause = min(_SWEEP_SECONDS, max(shortest_ms / 2000, _DRAIN_STEP_SECONDS))
        loop = asyncio.get_running_loop()
        while True:
            await self._wait(pause, loop)
            self._relay.traffic.report(self._relay.counting, self._relay.routes)
            if self._standing_bytes is not None:
                self._relay.budget.take(self, self._standing_bytes())
                self._looked_s = loop.time()
                self._relay.budget.look(int(self._looked_s * 1000), limits.frame_deadline_ms)
            await self._sweep_all(loop)
            await self._leave_old_addresses(loop)

    async def _wait(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        """Return in so many seconds, and look meanwhile who others wait for."""
        end = loop.time() + seconds
        while self._standing_bytes is not None and end - loop.time() > _LOOK_SECONDS:
            await asyncio.sleep(_LOOK_SECONDS)
            self._look_at_place(loop)
        await asyncio.sleep(max(end - loop.time(), 0))

    async def _let_others_go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Return in the next turn of the loop; to sweep thousands may take long where others are busy, so look, too."""
        await asyncio.sleep(0)
        if self._standing_bytes is not None and loop.time() - self._looked_s >= _LOOK_SECONDS:
            self._look_at_place(loop)

    def _look_at_place(self, loop: asyncio.AbstractEventLoop) -> None:
        self._looked_s = loop.time()
        self._relay.budget.look_at_place(int(self._looked_s * 1000), self._relay.limits.frame_deadline_ms)

    async def _sweep_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look at each connection that is there now and has not ended by its turn."""
        # Not in `run`, which goes on: its variables would keep the last connection when that has ended.
        waiting = list(self._relay.connections)
        closable = _DRAIN_WAVE
        while waiting:
            now_ms = int(loop.time() * 1000)
            closable -= self._sweep_some(waiting[-_SWEPT_A_TURN:], now_ms, closable)
            del waiting[-_SWEPT_A_TURN:]
            if waiting:
                await self._let_others_go_on(loop)

    def _sweep_some(self, connections: Sequence[OpenConnection], now_ms: int, closable: int) -> int:
        """Look at `connections`; close up to `closable` that are outdated and idle, and return how many were."""
        outdated: list[OpenConnection] = []
        for connection in connections:
            if connection in self._relay.connections:
                self._sweep(connection, now_ms)
                # Made before share groups were turned on or off.
                if connection.session.requests.is_outdated and connection.may_be_closed:
                    outdated.append(connection)
        for connection in outdated[:closable]:
            connection.close()
        return len(outdated[:closable])

    def _sweep(self, connection: OpenConnection, now_ms: int) -> None:
        try:
            connection.sweep(now_ms)
        except Exception as fault:  # noqa: BLE001 - the others must be looked after all the same
            self._relay.tasks.note_fault("sweeper", fault)
            connection.abort()

    async def _leave_old_addresses(self, loop: asyncio.AbstractEventLoop) -> None:
        """Part with connections to where brokers were: another one may be there, and answer that it leads nothing."""
        for number, twin in enumerate(tuple(self._relay.twins), start=1):
            try:
                twin.look_for_broker(int(loop.time() * 1000))
            except Exception as fault:  # noqa: BLE001 - the others must be looked after all the same
                self._relay.tasks.note_fault("sweeper", fault)
                twin.abort()
            if number % _SWEPT_A_TURN == 0:
                await self._let_others_go_on(loop)

    async def drain(self) -> None:
        """Take no further requests, let what is under way be answered, close in waves; return when all are closed."""
        for connection in tuple(self._relay.connections):
            connection.stop_reading()
        while self._relay.connections:
            finished = [each for each in self._relay.connections if each.may_be_closed]
            for connection in finished[:_DRAIN_WAVE]:
                connection.close()
            await asyncio.sleep(_DRAIN_STEP_SECONDS)

    async def all_ended(self) -> None:
        """Return when no connection is left, and nothing is to be served or released of those that were closed."""
        while self._relay.connections or self._relay.ending:  # noqa: ASYNC110 - sets have no event
            await asyncio.sleep(_ENDING_STEP_SECONDS)

    def cut_off(self) -> int:
        """Close every connection that is left; returns how many these are. They are gone after `all_ended`."""
        late = tuple(self._relay.connections)
        for connection in late:
            connection.abort()
        return len(late)
