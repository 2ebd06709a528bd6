"""The share coordinator: which records an operation on share-partition state makes, and what it answers.

Pure. Every operation decides on the fold as it is and changes nothing; its records take effect when they are
durable and the fold replays them. Source: `ShareCoordinatorShard`, as of Kafka 4.4. Where 4.3.1 differs:

- 4.3.1 takes the start offset and the delivery-complete count of a write as they come, so a late write moves
  both back; here, as in 4.4, neither ever does.
- 4.3.1 lets -1 pass as a leader epoch or a state epoch; here, as in 4.4, every negative epoch is refused.

Four differences from both. A snapshot that the log has no room for is left out: the update stands in its place.
Initializing again under the stored state epoch with the start offset left open (-1)
changes nothing: it repeats an initialization whose end nobody noted, and must not undo what was acknowledged
since. A cold share-partition is snapshotted again only when enough of the log lies behind its snapshot. And there
is nothing in memory that the log does not say: an initialization resets the leader epoch to 0 and the count of
updates since a snapshot, while a stock broker that has not loaded its log anew goes on fencing older leaders, and
counting.

Epochs end at 2147483647. Nobody but `load_state` may raise a leader epoch to that, so a load always has a next one
for itself, and once it is there loads stay there. A share-partition with the last snapshot epoch is written by
updates alone, and cannot be initialized again before its state is deleted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from kproxy.errors import FencedLeaderEpoch, FencedStateEpoch, InvalidRequest
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateBatch, StateDelta, lay_over
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, StateRecord, StateTombstone

Response = TypeVar("Response")

LAST_EPOCH: Final = 2**31 - 1
"""The highest epoch that there is: an int32, in the log and on the wire."""


@dataclass(frozen=True, slots=True)
class CoordinatorLimits:
    """How many updates may follow a snapshot (`share.coordinator.snapshot.update.records.per.snapshot`)."""

    updates_per_snapshot: int = 500


ActedRecords: TypeAlias = tuple[tuple[StateRecord, tuple[Actor, ...]], ...]
"""Records, each with those who made the change that it notes."""


@dataclass(slots=True)
class CoordinatorResult(Generic[Response]):
    """Records to append, each with its actors; without any, the answer, which holds at once.

    With records the answer of a read is the state that they make, once they are durable.
    """

    records: ActedRecords
    response: Response
    smaller: ActedRecords = ()
    """What does the same in place of `records` that are too large for the log; none where there is nothing smaller."""


_NOTHING_TO_WRITE: Final = CoordinatorResult[None]((), None)


class ShareCoordinator:
    """Decides on the states of one fold. It holds none of its own."""

    __slots__ = ("_limits", "fold")

    def __init__(self, fold: StateLogFold, limits: CoordinatorLimits) -> None:
        self.fold: Final = fold
        self._limits = limits

    def initialize_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: StateEpoch,
        start_offset: int,
        now_ms: int,
        actor: Actor,
    ) -> CoordinatorResult[None]:
        """Begin anew: no batches, leader epoch 0, the next snapshot epoch, nothing done with.

        Repeating the epoch and the start offset of the stored state, or its epoch with start offset -1, writes
        nothing.

        Raises:
            InvalidRequest: a negative partition or epoch, a start offset below -1, or no snapshot epoch is left.
            FencedStateEpoch: the stored state has a higher epoch.
        """
        _require_partition(key)
        if state_epoch < 0 or start_offset < UNKNOWN_START_OFFSET:
            raise InvalidRequest(f"state epoch {state_epoch} and start offset {start_offset} for {key}")
        state = self.fold.states.get(key)
        if state is not None:
            if state_epoch < state.state_epoch:
                raise FencedStateEpoch(f"state epoch {state_epoch} is behind {state.state_epoch} of {key}")
            is_known = start_offset in {UNKNOWN_START_OFFSET, state.start_offset}
            if state_epoch == state.state_epoch and is_known:
                return _NOTHING_TO_WRITE
            if state.snapshot_epoch >= LAST_EPOCH:
                raise InvalidRequest(f"{key} has the last snapshot epoch: its state has to be deleted first")
        snapshot = ShareSnapshot(
            key=key,
            snapshot_epoch=SnapshotEpoch(0 if state is None else state.snapshot_epoch + 1),
            state_epoch=state_epoch,
            leader_epoch=LeaderEpoch(0),
            start_offset=start_offset,
            create_timestamp_ms=now_ms,
            write_timestamp_ms=now_ms,
            delivery_complete_count=-1 if start_offset == UNKNOWN_START_OFFSET else 0,
            state_batches=(),
        )
        return CoordinatorResult(((snapshot, (actor,)),), None)

    def begin_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: StateEpoch,
        start_offset: int,
        now_ms: int,
        actor: Actor,
    ) -> CoordinatorResult[None]:
        """Do what `initialize_state` does for a group that knows of no state, under no lower epoch than the stored one.

        A state that has a start offset stays as it is, whatever its epoch: the group had come this far before its own
        records were lost. Begun anew it would pass over all that was not acknowledged yet.

        Raises:
            InvalidRequest: as `initialize_state`.
        """
        state = self.fold.states.get(key)
        if state is not None:
            if state.start_offset != UNKNOWN_START_OFFSET:
                return _NOTHING_TO_WRITE
            state_epoch = max(state_epoch, state.state_epoch)
        return self.initialize_state(
            key, state_epoch=state_epoch, start_offset=start_offset, now_ms=now_ms, actor=actor
        )

    def move_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: StateEpoch,
        start_offset: int,
        now_ms: int,
        actor: Actor,
    ) -> CoordinatorResult[None]:
        """Begin anew at `start_offset`, under a higher epoch than the stored one: whoever holds that is fenced.

        The epoch is `state_epoch` when that is higher already, and after the last one the last again.

        Raises:
            InvalidRequest: as `initialize_state`.
        """
        state = self.fold.states.get(key)
        if state is not None:
            state_epoch = StateEpoch(min(max(state_epoch, state.state_epoch + 1), LAST_EPOCH))
        return self.initialize_state(
            key, state_epoch=state_epoch, start_offset=start_offset, now_ms=now_ms, actor=actor
        )

    def read_state(
        self, key: SharePartitionKey, *, leader_epoch: LeaderEpoch, now_ms: int, actor: Actor
    ) -> CoordinatorResult[DurableShareState | None]:
        """Answer the state to a leader of this epoch, which is stored when it is a new one.

        Raises:
            InvalidRequest: a negative partition or epoch, there is no state, or the epoch is the last one and new.
            FencedLeaderEpoch: the stored leader epoch is higher.
        """
        _require_partition(key)
        if leader_epoch < 0:
            raise InvalidRequest(f"leader epoch {leader_epoch} for {key}")
        state = self._state_of(key)
        _require_leader(key, leader_epoch, state)
        if leader_epoch >= LAST_EPOCH > state.leader_epoch:
            raise InvalidRequest(f"leader epoch {leader_epoch} of {key} could not be followed by another")
        return self._read_under(key, state, leader_epoch, now_ms, actor)

    def load_state(
        self, key: SharePartitionKey, *, now_ms: int, actor: Actor
    ) -> CoordinatorResult[DurableShareState | None]:
        """Read the state for a new owner: the leader epoch becomes stored + 1. None when there is no state.

        The last leader epoch is followed by itself.
        """
        state = self.fold.states.get(key)
        if state is None:
            return CoordinatorResult((), None)
        leader_epoch = LeaderEpoch(min(state.leader_epoch + 1, LAST_EPOCH))
        return self._read_under(key, state, leader_epoch, now_ms, actor)

    def write_state(
        self,
        key: SharePartitionKey,
        *,
        state_epoch: StateEpoch,
        leader_epoch: LeaderEpoch,
        delta: StateDelta,
        now_ms: int,
        actors: tuple[Actor, ...],
    ) -> CoordinatorResult[None]:
        """Lay `delta`, which passed `require_possible_write`, over the state: an update, or a snapshot after enough.

        The stored leader epoch stays, also when the writer's is higher: only reads and loads raise it.

        Raises:
            InvalidRequest: there is no state.
            FencedLeaderEpoch: the stored leader epoch is higher.
            FencedStateEpoch: the stored state epoch is higher.
        """
        state = self._state_of(key)
        _require_leader(key, leader_epoch, state)
        if state_epoch < state.state_epoch:
            raise FencedStateEpoch(f"state epoch {state_epoch} is behind {state.state_epoch} of {key}")
        if delta.is_empty:
            return _NOTHING_TO_WRITE
        records = self._records_of_write(key, state, delta, state.leader_epoch, now_ms)
        return CoordinatorResult(*_told_by(actors, records))

    def delete_state(self, key: SharePartitionKey, *, actor: Actor) -> CoordinatorResult[None]:
        """End the state. Nothing to do when there is none. Raises InvalidRequest for a negative partition."""
        _require_partition(key)
        if key not in self.fold.states:
            return _NOTHING_TO_WRITE
        return CoordinatorResult(((StateTombstone(key), (actor,)),), None)

    def read_summary(self, key: SharePartitionKey) -> CoordinatorResult[DurableShareState | None]:
        """Answer the state to whoever only looks, None when there is none. Raises InvalidRequest as `delete_state`."""
        _require_partition(key)
        return CoordinatorResult((), self.fold.states.get(key))

    def cold_keys(self, *, not_written_since_ms: int) -> Sequence[SharePartitionKey]:
        """Return the share-partitions that keep the recovery point back, by rising offset of their snapshot.

        Those are written before this moment for the last time, with more records behind their snapshot than it
        takes to snapshot everything. So a log at rest stops being written to.
        """
        fold = self.fold
        enough = len(fold.places) + self._limits.updates_per_snapshot
        cold = [
            (place.snapshot_offset, key)
            for key, place in fold.places.items()
            if place.written_ms < not_written_since_ms
            and fold.applied_offset - place.snapshot_offset > enough
            and fold.states[key].snapshot_epoch < LAST_EPOCH
        ]
        return [key for _, key in sorted(cold)]

    def snapshot_state(self, key: SharePartitionKey, *, now_ms: int, actor: Actor) -> CoordinatorResult[None]:
        """Snapshot the state as it is, unless there is none, or no snapshot epoch. The time of its creation stays."""
        state = self.fold.states.get(key)
        if state is None or state.snapshot_epoch >= LAST_EPOCH:
            return _NOTHING_TO_WRITE
        created_ms = self.fold.places[key].create_timestamp_ms
        return CoordinatorResult(((_next_snapshot(key, state, created_ms, now_ms), (actor,)),), None)

    def _state_of(self, key: SharePartitionKey) -> DurableShareState:
        state = self.fold.states.get(key)
        if state is None:
            raise InvalidRequest(f"the state of {key} was never initialized")
        return state

    def _read_under(
        self,
        key: SharePartitionKey,
        state: DurableShareState,
        leader_epoch: LeaderEpoch,
        now_ms: int,
        actor: Actor,
    ) -> CoordinatorResult[DurableShareState | None]:
        """Answer `state`; store the leader epoch first when it is a new one."""
        if leader_epoch == state.leader_epoch:
            return CoordinatorResult((), state)
        unchanged = StateDelta(state.start_offset, state.delivery_complete_count, ())
        records = self._records_of_write(key, state, unchanged, leader_epoch, now_ms)
        return CoordinatorResult(*_told_by((actor,), records))

    def _records_of_write(
        self,
        key: SharePartitionKey,
        state: DurableShareState,
        delta: StateDelta,
        leader_epoch: LeaderEpoch,
        now_ms: int,
    ) -> tuple[StateRecord, ...]:
        """Return the update that `delta` is; when a snapshot is due that, and the update for when it is too large."""
        update = _update(key, state, delta, leader_epoch)
        if not self._is_snapshot_due(key) or state.snapshot_epoch >= LAST_EPOCH:
            return (update,)
        return _next_snapshot(key, state.after_write(delta, leader_epoch), now_ms, now_ms), update

    def _is_snapshot_due(self, key: SharePartitionKey) -> bool:
        """Tell whether enough updates follow the snapshot; one that the log would not take is due again after as many.

        Each try encodes the whole state, so it is not made with every write.
        """
        updates, enough = self.fold.places[key].updates_since, self._limits.updates_per_snapshot
        return updates >= enough and (not enough or updates % enough == 0)


def require_possible_write(
    key: SharePartitionKey, state_epoch: StateEpoch, leader_epoch: LeaderEpoch, delta: StateDelta
) -> None:
    """Refuse a write that no state could take.

    Raises:
        InvalidRequest: a negative partition or epoch, a start offset or count below -1, or a batch that is
            negative, reversed or acquired.
    """
    _require_partition(key)
    if state_epoch < 0 or leader_epoch < 0:
        raise InvalidRequest(f"state epoch {state_epoch} and leader epoch {leader_epoch} for {key}")
    if delta.start_offset < UNKNOWN_START_OFFSET or delta.delivery_complete_count < -1:
        raise InvalidRequest(f"a start offset or a delivery-complete count below -1 for {key}")
    for batch in delta.batches:
        if not _is_possible(batch):
            raise InvalidRequest(f"{batch} of {key} cannot be durable")


def _is_possible(batch: StateBatch) -> bool:
    return (
        0 <= batch.first_offset <= batch.last_offset
        and batch.delivery_count >= 0
        and batch.state is not RecordState.ACQUIRED
    )


def _require_partition(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise InvalidRequest(f"partition {key.partition} of {key.group_id}, expected 0 or higher")


def _require_leader(key: SharePartitionKey, leader_epoch: LeaderEpoch, state: DurableShareState) -> None:
    if leader_epoch < state.leader_epoch:
        raise FencedLeaderEpoch(f"leader epoch {leader_epoch} is behind {state.leader_epoch} of {key}")


def _told_by(
    actors: tuple[Actor, ...], records: Sequence[StateRecord]
) -> tuple[ActedRecords, None, ActedRecords]:
    """Return the fields of a result whose first record is to be written, and whose others are smaller."""
    first, *smaller = ((record, actors) for record in records)
    return (first,), None, tuple(smaller)


def _update(
    key: SharePartitionKey, state: DurableShareState, delta: StateDelta, leader_epoch: LeaderEpoch
) -> ShareUpdate:
    start_offset, batches = delta.start_offset, delta.batches
    if UNKNOWN_START_OFFSET < start_offset < state.start_offset:
        start_offset = state.start_offset
        batches = lay_over((), batches, start_offset)
    return ShareUpdate(
        key=key,
        snapshot_epoch=state.snapshot_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=state.complete_count_after(delta),
        state_batches=batches,
    )


def _next_snapshot(
    key: SharePartitionKey, state: DurableShareState, created_ms: int, now_ms: int
) -> ShareSnapshot:
    return ShareSnapshot(
        key=key,
        snapshot_epoch=SnapshotEpoch(state.snapshot_epoch + 1),
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        create_timestamp_ms=created_ms,
        write_timestamp_ms=now_ms,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=state.state_batches,
    )
