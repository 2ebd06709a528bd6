"""The fold of one state-log partition: the only code that turns log records into state.

Recovery, the live path and offline replay all run it, so what the proxy believes and what the log says cannot
drift apart. Four rules decide about each record:

1. *Claims.* A claim record's own offset is its claim epoch. From then on only records that name this epoch in
   their header count; those of an older claim came late and are ignored. Records without a claim count only
   before any claim was seen: they were imported.
2. *A claim that was never read.* Who begins reading after a claim learns its epoch from the first record that
   names it. Everything taken before that is of an older claim, although it stands behind the newer one: it came
   late, and is forgotten again.
3. *Epochs never regress.* A snapshot has a higher snapshot epoch than the one it replaces and no lower state
   epoch; an update belongs to the newest snapshot and has no lower leader epoch. Anything else is corrupt.
4. *Updates need their snapshot.* Reading may begin after the snapshot of a share-partition that has a newer one
   further on. Its updates on the way there are passed over; if no snapshot follows, `require_snapshots` says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final, Literal

from kproxy.errors import CorruptStateRecord, SnapshotMissing, UnsupportedStateRecord
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey
from kproxy.share.state_batches import StateDelta, lay_over
from kproxy.statelog.claims import Claim, claim_epoch_of
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.short_keys import SharedGroupIds
from kproxy.statelog.state_records import (
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    StateTombstone,
    decode_state_message,
)
from kproxy.wire.records import Record

NO_CLAIM: Final = -1
"""The claim epoch before any claim was seen."""
NO_OFFSET: Final = -1
"""The offset of a record that was not seen yet."""


class Outcome(Enum):
    """What became of one record."""

    APPLIED = "applied"
    CLAIMED = "claimed"
    IGNORED_STALE_CLAIM = "ignored-stale-claim"
    IGNORED_UNCLAIMED = "ignored-unclaimed"
    IGNORED_NO_SNAPSHOT = "ignored-no-snapshot"
    """An update whose snapshot lies before the first record read."""
    SKIPPED_CORRUPT = "skipped-corrupt"


@dataclass(slots=True)
class SnapshotPlace:
    """Where the newest snapshot of a live share-partition stands, and what followed. Not to be changed by readers.

    Times are epoch milliseconds. `written_ms` is when it was last written, by a snapshot or an update.
    """

    snapshot_offset: int
    updates_since: int
    create_timestamp_ms: int
    written_ms: int


@dataclass(frozen=True, slots=True)
class FoldImage:
    """All that a fold knows, to go on from elsewhere. `orphans` has the first of the updates without a snapshot.

    `first_offset` and `applied_offset` are those of the first and the last record looked at; `last_taken_offset` of
    the last one that counted. -1 is none.
    """

    states: Mapping[SharePartitionKey, DurableShareState]
    places: Mapping[SharePartitionKey, SnapshotPlace]
    orphans: Mapping[SharePartitionKey, int]
    claim_epoch: int
    first_offset: int
    last_taken_offset: int
    applied_offset: int


class StateLogFold:
    """The state of every share-partition of one state-log partition, after the last record that was applied.

    With `on_corrupt="skip"` a corrupt record is passed over as if it were not there; one of a newer format is
    refused all the same.
    """

    __slots__ = (
        "_first_offset",
        "_group_ids",
        "_is_skipping",
        "_last_taken_offset",
        "_orphans",
        "_places",
        "_recovery_point",
        "_states",
        "applied_offset",
        "claim_epoch",
        "places",
        "states",
    )

    def __init__(self, *, on_corrupt: Literal["stop", "skip"] = "stop") -> None:
        self._is_skipping = on_corrupt == "skip"
        self._states: dict[SharePartitionKey, DurableShareState] = {}
        self._places: dict[SharePartitionKey, SnapshotPlace] = {}
        self._orphans: dict[SharePartitionKey, int] = {}
        self._group_ids = SharedGroupIds()
        self._first_offset = NO_OFFSET
        self._last_taken_offset = NO_OFFSET
        self._recovery_point = (NO_OFFSET, 0)
        self.states: Final[Mapping[SharePartitionKey, DurableShareState]] = MappingProxyType(self._states)
        """The durable state of every live share-partition: a view that follows the fold."""
        self.places: Final[Mapping[SharePartitionKey, SnapshotPlace]] = MappingProxyType(self._places)
        """Where the newest snapshot of every live share-partition stands."""
        self.claim_epoch = NO_CLAIM
        """The claim that counts; -1 before any."""
        self.applied_offset = NO_OFFSET
        """The offset of the last record looked at, whatever became of it; -1 before any."""

    @staticmethod
    def resume(image: FoldImage, *, on_corrupt: Literal["stop", "skip"] = "stop") -> "StateLogFold":
        """Return a fold that goes on where the one of `image` stood, as if it were the same."""
        fold = StateLogFold(on_corrupt=on_corrupt)
        for key, state in image.states.items():
            kept = fold._group_ids.keep(key)
            fold._states[kept], fold._places[kept] = state, replace(image.places[key])
        fold._orphans.update({fold._group_ids.keep(key): offset for key, offset in image.orphans.items()})
        fold.claim_epoch = image.claim_epoch
        fold._first_offset = image.first_offset
        fold._last_taken_offset = image.last_taken_offset
        fold.applied_offset = image.applied_offset
        return fold

    def image(self) -> FoldImage:
        """Return what the fold knows now. It stays as it is while the fold goes on."""
        return FoldImage(
            states=dict(self._states),
            places={key: replace(place) for key, place in self._places.items()},
            orphans=dict(self._orphans),
            claim_epoch=self.claim_epoch,
            first_offset=self._first_offset,
            last_taken_offset=self._last_taken_offset,
            applied_offset=self.applied_offset,
        )

    def apply(self, record: Record) -> Outcome:
        """Decode and take in the next record of the log. Offsets ascend; there may be holes between them.

        Raises:
            CorruptStateRecord: it cannot be decoded, or cannot follow what came before it; no state has changed.
                Not raised while skipping.
            UnsupportedStateRecord: it has a newer format.
        """
        try:
            claim_epoch = claim_epoch_of(record.headers)
        except CorruptStateRecord as corrupt:
            return self._pass_over(corrupt, record.offset)
        return self.apply_message(
            record.key,
            record.value,
            claim_epoch=claim_epoch,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
        )

    def apply_message(
        self,
        key: bytes | None,
        value: bytes | None,
        *,
        claim_epoch: int | None,
        offset: int,
        timestamp_ms: int,
    ) -> Outcome:
        """Do what `apply` does with a record whose claim header is decoded already. Raises the same."""
        try:
            record = decode_state_message(key, value)
            return self.replay(record, claim_epoch=claim_epoch, offset=offset, timestamp_ms=timestamp_ms)
        except CorruptStateRecord as corrupt:
            return self._pass_over(corrupt, offset)

    def replay(
        self, record: StateRecord, *, claim_epoch: int | None, offset: int, timestamp_ms: int
    ) -> Outcome:
        """Take in a record that is decoded already: what `apply` does after decoding. `offset` is above the last.

        Raises:
            CorruptStateRecord: the record cannot follow what came before it, also while skipping.
        """
        assert offset > self.applied_offset, f"offset {offset} after {self.applied_offset}"
        self._look_at(offset)
        if isinstance(record, Claim):
            self.claim_epoch = self._last_taken_offset = offset
            return Outcome.CLAIMED
        if claim_epoch != self.claim_epoch:
            ignored = self._outcome_of_claim(claim_epoch, offset)
            if ignored is not None:
                return ignored
        outcome = self._take(record, offset, timestamp_ms)
        self._last_taken_offset = offset
        return outcome

    def recovery_point(self) -> int:
        """Return the offset from which a fold must begin to arrive at the same state.

        It is the lowest among the newest snapshots of all live share-partitions; without any, the last record
        that counted, which names the claim; 0 when there is nothing.
        """
        known_at, point = self._recovery_point
        if known_at != self.applied_offset:
            places = self._places.values()
            point = min((place.snapshot_offset for place in places), default=max(self._last_taken_offset, 0))
            self._recovery_point = (self.applied_offset, point)
        return point

    def require_snapshots(self) -> None:
        """Check, at the end of a replay, that no share-partition was left with updates and no snapshot.

        Raises:
            SnapshotMissing: one was; the offset is that of its first update.
        """
        for key, offset in self._orphans.items():
            raise SnapshotMissing(f"updates of {key} without a snapshot before or after them", offset=offset)

    def _pass_over(self, corrupt: CorruptStateRecord, offset: int) -> Outcome:
        self._look_at(offset)
        if self._is_skipping and not isinstance(corrupt, UnsupportedStateRecord):
            return Outcome.SKIPPED_CORRUPT
        raise type(corrupt)(corrupt.reason, offset=offset) from corrupt

    def _look_at(self, offset: int) -> None:
        if self._first_offset == NO_OFFSET:
            self._first_offset = offset
        self.applied_offset = offset

    def _outcome_of_claim(self, claim_epoch: int | None, offset: int) -> Outcome | None:
        """Return why a record that names another claim than the newest does not count; None when it does."""
        if claim_epoch is None:
            return None if self.claim_epoch == NO_CLAIM else Outcome.IGNORED_UNCLAIMED
        if claim_epoch < self.claim_epoch:
            return Outcome.IGNORED_STALE_CLAIM
        if not 0 <= claim_epoch < offset:
            raise CorruptStateRecord(f"claim epoch {claim_epoch}, which is no offset before the record")
        if claim_epoch < self._first_offset:
            self._forget()
        self.claim_epoch = claim_epoch
        return None

    def _forget(self) -> None:
        self._states.clear()
        self._places.clear()
        self._orphans.clear()
        self._group_ids.clear()

    def _take(
        self, record: ShareSnapshot | ShareUpdate | StateTombstone, offset: int, timestamp_ms: int
    ) -> Outcome:
        if isinstance(record, ShareUpdate):
            return self._take_update(record, offset, timestamp_ms)
        if isinstance(record, ShareSnapshot):
            self._take_snapshot(record, offset)
        else:
            if self._states.pop(record.key, None) is not None:
                del self._places[record.key]
                self._group_ids.drop(record.key)
            self._drop_orphan(record.key)
        return Outcome.APPLIED

    def _drop_orphan(self, key: SharePartitionKey) -> None:
        if self._orphans.pop(key, None) is not None:
            self._group_ids.drop(key)

    def _take_update(self, update: ShareUpdate, offset: int, timestamp_ms: int) -> Outcome:
        key = update.key
        state = self._states.get(key)
        if state is None:
            if key not in self._orphans:
                self._orphans[self._group_ids.keep(key)] = offset
            return Outcome.IGNORED_NO_SNAPSHOT
        if update.snapshot_epoch != state.snapshot_epoch:
            raise CorruptStateRecord(
                f"an update to snapshot {update.snapshot_epoch} of {key}, which is at {state.snapshot_epoch}"
            )
        if update.leader_epoch < state.leader_epoch:
            raise CorruptStateRecord(
                f"regressing leader epoch {update.leader_epoch} of {key}, which is at {state.leader_epoch}"
            )
        delta = StateDelta(update.start_offset, update.delivery_complete_count, update.state_batches)
        self._states[key] = state.after_write(delta, LeaderEpoch(update.leader_epoch))
        place = self._places[key]
        place.updates_since += 1
        place.written_ms = timestamp_ms
        return Outcome.APPLIED

    def _take_snapshot(self, snapshot: ShareSnapshot, offset: int) -> None:
        key = snapshot.key
        state = self._states.get(key)
        if state is None:
            key = self._group_ids.keep(key)
        else:
            _require_successor(snapshot, state)
        self._states[key] = DurableShareState(
            snapshot.state_epoch,
            snapshot.leader_epoch,
            snapshot.snapshot_epoch,
            snapshot.start_offset,
            snapshot.delivery_complete_count,
            lay_over((), snapshot.state_batches, snapshot.start_offset),
        )
        self._places[key] = SnapshotPlace(
            offset, 0, snapshot.create_timestamp_ms, snapshot.write_timestamp_ms
        )
        self._drop_orphan(key)


def _require_successor(snapshot: ShareSnapshot, state: DurableShareState) -> None:
    """Raise CorruptStateRecord when a snapshot cannot follow `state`.

    The leader epoch returns to 0 when a state is initialized anew, whatever its state epoch.
    """
    if snapshot.snapshot_epoch <= state.snapshot_epoch:
        raise CorruptStateRecord(
            f"regressing snapshot epoch {snapshot.snapshot_epoch} of {snapshot.key},"
            f" which is at {state.snapshot_epoch}"
        )
    if snapshot.state_epoch < state.state_epoch:
        raise CorruptStateRecord(
            f"regressing state epoch {snapshot.state_epoch} of {snapshot.key}, which is at {state.state_epoch}"
        )
    if snapshot.state_epoch == state.state_epoch and 0 < snapshot.leader_epoch < state.leader_epoch:
        raise CorruptStateRecord(
            f"regressing leader epoch {snapshot.leader_epoch} of {snapshot.key},"
            f" which is at {state.leader_epoch}"
        )
