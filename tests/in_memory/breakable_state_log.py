"""`BreakableStateLog`: the in-memory state log, which fails or waits when a test says so."""

import asyncio
from collections.abc import Awaitable

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.in_memory_state_log import InMemoryStateLog


class BreakableStateLog:
    """Implements `StateLog`.

    While `persist_failure` is set, writes are refused with it; while `is_away`, loads and initializations are. While
    `hold_writes` is set, writes become durable only when it is.
    """

    def __init__(self) -> None:
        self.persist_failure: ApiError | None = None
        self.is_away = False
        self.hold_writes: asyncio.Event | None = None
        self.hold_loads: asyncio.Event | None = None
        self.loads: list[SharePartitionKey] = []
        self.deltas: list[tuple[SharePartitionKey, StateDelta]] = []
        self._log = InMemoryStateLog()

    async def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        self._require_here()
        await self._log.initialize(key, state_epoch=state_epoch, start_offset=start_offset)

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        self.loads.append(key)
        if self.hold_loads is not None:
            await self.hold_loads.wait()
        self._require_here()
        return await self._log.load(key)

    def persist(self, key: SharePartitionKey, delta: StateDelta) -> Awaitable[None]:
        self.deltas.append((key, delta))
        if self.persist_failure is None and self.hold_writes is None:
            return self._log.persist(key, delta)
        return self._persist_later(key, delta, self.persist_failure, self.hold_writes)

    async def _persist_later(
        self,
        key: SharePartitionKey,
        delta: StateDelta,
        failure: ApiError | None,
        held: asyncio.Event | None,
    ) -> None:
        if held is not None:
            await held.wait()
        if failure is not None:
            raise failure
        await self._log.persist(key, delta)

    def _require_here(self) -> None:
        if self.is_away:
            raise StateLogUnavailable("the in-memory state log was told to be away")
