"""The durable truth about one share-partition: the fold of its records in the state log."""

from collections.abc import Sequence
from dataclasses import dataclass

from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateBatch, StateDelta, lay_over


@dataclass(frozen=True, slots=True)
class DurableShareState:
    """What survives a restart. `start_offset` and `delivery_complete_count` are -1 while unknown.

    `state_batches` are ascending, disjoint and not below the start offset. Acquired is never among their
    states: whoever loads this delivers again what was in flight.
    """

    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    snapshot_epoch: SnapshotEpoch
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...]

    def after(self, delta: StateDelta) -> "DurableShareState":
        """Return this state with `delta` laid over it. The epochs stay.

        A late write never moves the start offset back: the higher one is kept with its own count, of equal
        ones the higher count; a delta that names no start offset (-1) leaves both. Source:
        `ShareCoordinatorShard`, as of Kafka 4.4 (4.3.1 takes both from the write as they come).
        """
        return self.after_write(delta, self.leader_epoch)

    def after_write(self, delta: StateDelta, leader_epoch: LeaderEpoch) -> "DurableShareState":
        """Return what `after` does, under the leader epoch of the writer."""
        start_offset = max(self.start_offset, delta.start_offset)
        return DurableShareState(
            self.state_epoch,
            leader_epoch,
            self.snapshot_epoch,
            start_offset,
            self.complete_count_after(delta),
            lay_over(self.state_batches, delta.batches, start_offset),
        )

    def complete_count_after(self, delta: StateDelta) -> int:
        """Return the delivery-complete count that `after` gives."""
        if delta.start_offset < self.start_offset or delta.start_offset == UNKNOWN_START_OFFSET:
            return self.delivery_complete_count
        if delta.start_offset > self.start_offset:
            return delta.delivery_complete_count
        return max(self.delivery_complete_count, delta.delivery_complete_count)


def merged_delta(deltas: Sequence[StateDelta]) -> StateDelta:
    """Return the one delta that does to any state what `deltas`, at least one, do in turn.

    A single delta is returned as it is. The count is that of the highest start offset, of equal ones the higher.
    """
    if len(deltas) == 1:
        return deltas[0]
    start_offset, complete_count = max(
        (delta.start_offset, delta.delivery_complete_count) for delta in deltas
    )
    batches = (batch for delta in deltas for batch in delta.batches)
    return StateDelta(start_offset, complete_count, lay_over((), batches, start_offset))
