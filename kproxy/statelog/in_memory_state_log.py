"""Share-partition state that lives as long as the process: the state log without a log."""

from collections.abc import Awaitable, Generator
from dataclasses import dataclass

from kproxy.errors import StateLogUnavailable
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateDelta
from kproxy.statelog.durable_state import DurableShareState


class InMemoryStateLog:
    """Implements the port `StateLog`; never waits for anything."""

    __slots__ = ("_states",)

    def __init__(self) -> None:
        self._states: dict[SharePartitionKey, DurableShareState] = {}

    async def initialize(self, key: SharePartitionKey, *, state_epoch: int, start_offset: int) -> None:
        """Begin anew: no batches, leader epoch 0, the next snapshot epoch.

        Repeating the epoch and offset of the stored state changes nothing.

        Raises:
            StateLogUnavailable: the state was initialized under a higher epoch (KIP-932,
                "InitializeShareGroupState").
        """
        state = self._states.get(key)
        if state is not None and state_epoch < state.state_epoch:
            raise StateLogUnavailable(f"state epoch {state_epoch} is behind {state.state_epoch} of {key}")
        if state is not None and (state.state_epoch, state.start_offset) == (state_epoch, start_offset):
            return
        self._states[key] = DurableShareState(
            state_epoch=StateEpoch(state_epoch),
            leader_epoch=LeaderEpoch(0),
            snapshot_epoch=SnapshotEpoch(0 if state is None else state.snapshot_epoch + 1),
            start_offset=start_offset,
            delivery_complete_count=-1 if start_offset == UNKNOWN_START_OFFSET else 0,
            state_batches=(),
        )

    async def load(self, key: SharePartitionKey) -> DurableShareState | None:
        """Return the state, None when it was never initialized."""
        return self._states.get(key)

    def persist(self, key: SharePartitionKey, delta: StateDelta) -> Awaitable[None]:
        """Lay `delta` over the state at once.

        Awaiting the result raises StateLogUnavailable when the state was never initialized.
        """
        state = self._states.get(key)
        if state is None:
            return _Outcome(StateLogUnavailable(f"the state of {key} was never initialized"))
        if not delta.is_empty:
            self._states[key] = state.after(delta)
        return _Outcome(None)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """An awaitable that is done: awaiting it raises the refusal, if there is one, and never waits."""

    refusal: StateLogUnavailable | None

    def __await__(self) -> Generator[None, None, None]:
        if self.refusal is not None:
            raise self.refusal
        yield from ()
