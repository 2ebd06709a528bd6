"""`InMemoryShareStateStore`: the port `ShareStateStore` on the in-memory state log."""

from collections.abc import Sequence

from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, StateEpoch
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import Delete, Initialize, Operation, Read, ReadSummary, requested_write
from tests.in_memory.in_memory_state_log import InMemoryStateLog


class InMemoryShareStateStore:
    """Implements `ShareStateStore`; never waits for anything."""

    def __init__(self, log: InMemoryStateLog | None = None) -> None:
        self.log = log or InMemoryStateLog()

    async def initialize_state(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        self._run(Initialize(key, StateEpoch(state_epoch), start_offset))

    async def read_state(self, key: SharePartitionKey, *, leader_epoch: int) -> DurableShareState:
        state = self._run(Read(key, LeaderEpoch(leader_epoch)))
        assert state is not None
        return state

    async def write_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> None:
        epochs = (StateEpoch(state_epoch), LeaderEpoch(leader_epoch))
        asked = StateDelta(start_offset, delivery_complete_count, tuple(batches))
        self._run(requested_write(key, *epochs, asked))

    async def delete_state(self, key: SharePartitionKey) -> None:
        self._run(Delete(key))

    async def read_summary(self, key: SharePartitionKey) -> DurableShareState | None:
        return self._run(ReadSummary(key))

    def _run(self, operation: Operation) -> DurableShareState | None:
        ticket = self.log.run(operation)
        if ticket.refusal is not None:
            raise ticket.refusal
        assert ticket.response is None or isinstance(ticket.response, DurableShareState)
        return ticket.response
