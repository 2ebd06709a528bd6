"""`OrderedStateLog`: a state log whose writes become durable, or are refused, in the order in which they came.

One that is full refuses writes as they come, whatever becomes of those that wait.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from kproxy.errors import ApiError, StateNotWritten
from kproxy.handlers.ports import OnRefused
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import Write
from tests.in_memory.breakable_state_log import BreakableStateLog


@dataclass(frozen=True, slots=True)
class _Queued:
    write: Write
    on_refused: OnRefused | None
    outcome: asyncio.Future[None]


class OrderedStateLog(BreakableStateLog):
    """Implements `StateLog`. While `hold` is in force writes queue up, and loads wait behind them."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self._is_holding = False
        self._queue: list[_Queued] = []
        self._went_on = asyncio.Event()

    def hold(self) -> None:
        """Let writes wait from now on."""
        self._is_holding = True
        self._went_on.clear()

    def go_on(self) -> None:
        """Let what waits become durable in order, and hold nothing any more."""
        self._end_hold(None)

    def refuse(self, failure: ApiError) -> None:
        """Refuse all that waits, and hold nothing any more."""
        self._end_hold(failure)

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        while self._is_holding:
            await self._went_on.wait()
        return await super().load(key)

    def persist(
        self,
        key: SharePartitionKey,
        delta: StateDelta,
        *,
        state_epoch: StateEpoch,
        leader_epoch: LeaderEpoch,
        actors: tuple[Actor, ...],
        on_refused: OnRefused | None = None,
    ) -> Awaitable[None]:
        outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queued = _Queued(Write(key, state_epoch, leader_epoch, delta, actors), on_refused, outcome)
        if self.is_full:
            _refuse(queued, StateNotWritten("too many wait"))
            return asyncio.shield(outcome)
        self._queue.append(queued)
        if not self._is_holding:
            self._end_hold(None)
        return asyncio.shield(outcome)

    def _end_hold(self, failure: ApiError | None) -> None:
        self._is_holding = False
        queue, self._queue = self._queue, []
        for queued in queue if failure is None else reversed(queue):
            refusal = failure or self.memory.run(queued.write).refusal
            if refusal is None:
                queued.outcome.set_result(None)
            else:
                _refuse(queued, refusal)
        self._went_on.set()


def _refuse(queued: _Queued, refusal: ApiError) -> None:
    if queued.on_refused is not None:
        queued.on_refused(refusal)
    queued.outcome.set_exception(refusal)
    queued.outcome.exception()  # maybe nobody waits for it
