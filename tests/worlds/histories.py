"""Histories of one log partition, as Hypothesis makes them up; their records; and what they must lead to.

The oracle knows nothing of batches or folds: it keeps a state per offset of the topic, in a dictionary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from hypothesis import strategies as st

from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import TERMINAL_STATES, RecordState
from kproxy.share.state_batches import StateBatch, lay_over
from kproxy.statelog.actors import FIRST_ACTOR_VERSION, Actor, Cause
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, StateTombstone, encode_state_record
from kproxy.wire.records import Record

FIRST_MS: Final = 1_795_262_400_000
KEYS: Final = tuple(
    SharePartitionKey(GroupId(group), TopicId(bytes([topic]) * 16), partition)
    for group, topic, partition in (("workers", 1, 0), ("workers", 1, 1), ("others", 2, 0))
)

ByOffset: TypeAlias = dict[int, tuple[int, int]]
"""Delivery count and state of each offset that has one."""


@dataclass(slots=True)
class Expected:
    """What an oracle knows of a share-partition."""

    snapshot_epoch: int
    state_epoch: int
    start_offset: int
    by_offset: ByOffset = field(default_factory=dict)

    @property
    def complete_count(self) -> int:
        return sum(RecordState(state) in TERMINAL_STATES for _, state in self.by_offset.values())

    def write(self, batches: Sequence[StateBatch], start_offset: int) -> None:
        self.start_offset = max(self.start_offset, start_offset)
        for batch in batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                said = (batch.delivery_count, int(batch.state))
                self.by_offset[offset] = max(said, self.by_offset.get(offset, said))
        self.by_offset = {
            offset: state for offset, state in self.by_offset.items() if offset >= self.start_offset
        }


@dataclass(slots=True)
class History:
    """The records of a log partition in order, and the state after each of them."""

    records: list[Record] = field(default_factory=list)
    states: dict[SharePartitionKey, Expected] = field(default_factory=dict)
    claim_epoch: int | None = None
    actor_version: int = FIRST_ACTOR_VERSION
    """The form of the headers that name members: batches are drawn, and no acknowledgement has a type."""
    snapshot_offsets: dict[SharePartitionKey, int] = field(default_factory=dict)

    @property
    def next_offset(self) -> int:
        return len(self.records)

    def claim(self, format_version: int = STATE_FORMAT_VERSION) -> None:
        self.claim_epoch = self.next_offset
        self._append(encode_state_record(Claim("kproxy", format_version), claim_epoch=None, actors=()))

    def snapshot(self, key: SharePartitionKey, *, is_new: bool = False) -> None:
        known = self.states.get(key)
        state = (
            Expected(1, 1, 0) if known is None else replace(known, snapshot_epoch=known.snapshot_epoch + 1)
        )
        if is_new and known is not None:
            state = Expected(state.snapshot_epoch, known.state_epoch + 1, 0)
        self.states[key] = state
        self.snapshot_offsets[key] = self.next_offset
        batches = lay_over((), _batches(state.by_offset), state.start_offset)
        snapshot = ShareSnapshot(
            key=key,
            snapshot_epoch=SnapshotEpoch(state.snapshot_epoch),
            state_epoch=StateEpoch(state.state_epoch),
            leader_epoch=LeaderEpoch(0),
            start_offset=state.start_offset,
            create_timestamp_ms=FIRST_MS,
            write_timestamp_ms=FIRST_MS,
            delivery_complete_count=state.complete_count,
            state_batches=batches,
        )
        self._append(
            encode_state_record(snapshot, claim_epoch=self.claim_epoch, actors=[Actor(Cause.SNAPSHOT)])
        )

    def update(self, key: SharePartitionKey, batches: Sequence[StateBatch], start_offset: int) -> None:
        state = self.states[key]
        state.write(batches, start_offset)
        self._append(self._update_record(key, state, batches, start_offset, self.claim_epoch))

    def late_update(
        self, key: SharePartitionKey, batches: Sequence[StateBatch], claim_epoch: int | None
    ) -> None:
        """Append what a superseded owner, or a stranger, writes: it changes nothing."""
        self._append(self._update_record(key, self.states[key], batches, 0, claim_epoch))

    def tombstone(self, key: SharePartitionKey) -> None:
        del self.states[key]
        del self.snapshot_offsets[key]
        self._append(encode_state_record(StateTombstone(key), claim_epoch=self.claim_epoch, actors=()))

    def _update_record(
        self,
        key: SharePartitionKey,
        state: Expected,
        batches: Sequence[StateBatch],
        start_offset: int,
        claim_epoch: int | None,
    ) -> Record:
        update = ShareUpdate(
            key,
            SnapshotEpoch(state.snapshot_epoch),
            LeaderEpoch(0),
            start_offset,
            state.complete_count,
            tuple(batches),
        )
        ranges = tuple((batch.first_offset, batch.last_offset) for batch in batches)
        actor = Actor(Cause.ACKNOWLEDGE, "alice", "client-1", "/10.0.0.7", ranges, version=self.actor_version)
        return encode_state_record(update, claim_epoch=claim_epoch, actors=[actor])

    def _append(self, record: Record) -> None:
        offset = self.next_offset
        self.records.append(replace(record, offset=offset, timestamp_ms=FIRST_MS + 1000 * offset))


def _batches(by_offset: ByOffset) -> list[StateBatch]:
    return [
        StateBatch(offset, offset, RecordState(state), count)
        for offset, (count, state) in sorted(by_offset.items())
    ]


def by_offset_of(state_batches: Sequence[StateBatch]) -> ByOffset:
    """Return the state of each offset that batches cover."""
    return {
        offset: (batch.delivery_count, int(batch.state))
        for batch in state_batches
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }


_ACTS: Final = ("claim", "snapshot", "anew", "update", "update", "update", "late", "tombstone")


@st.composite
def state_batches(draw: st.DrawFn) -> list[StateBatch]:
    """Draw ascending, disjoint batches."""
    batches, first = [], draw(st.integers(0, 20))
    for _ in range(draw(st.integers(1, 3))):
        last = first + draw(st.integers(0, 6))
        state = draw(st.sampled_from((RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)))
        batches.append(StateBatch(first, last, state, draw(st.integers(1, 5))))
        first = last + 1 + draw(st.integers(0, 3))
    return batches


@st.composite
def histories(draw: st.DrawFn, *, most: int = 40) -> History:
    """Draw a history in which everything happens that may."""
    history = History()
    if draw(st.booleans()):
        history.claim()
    for _ in range(draw(st.integers(1, most))):
        _act(draw, history, draw(st.sampled_from(_ACTS)), draw(st.sampled_from(KEYS)))
    return history


def _act(draw: st.DrawFn, history: History, act: str, key: SharePartitionKey) -> None:
    if act == "claim":
        history.claim()
    elif key not in history.states or act in ("snapshot", "anew"):
        history.snapshot(key, is_new=act == "anew")
    elif act == "update":
        start_offset = history.states[key].start_offset + draw(st.integers(0, 3))
        history.update(key, draw(state_batches()), start_offset)
    elif act == "late" and history.claim_epoch is not None:
        stranger = draw(st.sampled_from((None, history.claim_epoch - 1)))
        claim_epoch = stranger if stranger is None or stranger >= 0 else None
        history.late_update(key, draw(state_batches()), claim_epoch)
    else:
        history.tombstone(key)
