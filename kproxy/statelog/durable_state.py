"""The durable truth about one share-partition: the fold of its records in the state log."""

from dataclasses import dataclass, replace

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
        start_offset = max(self.start_offset, delta.start_offset)
        return replace(
            self,
            start_offset=start_offset,
            delivery_complete_count=self._complete_count_after(delta),
            state_batches=lay_over(self.state_batches, delta.batches, start_offset),
        )

    def _complete_count_after(self, delta: StateDelta) -> int:
        if delta.start_offset < self.start_offset or delta.start_offset == UNKNOWN_START_OFFSET:
            return self.delivery_complete_count
        if delta.start_offset > self.start_offset:
            return delta.delivery_complete_count
        return max(self.delivery_complete_count, delta.delivery_complete_count)
