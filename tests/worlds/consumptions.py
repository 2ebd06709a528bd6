"""Histories of consumption, made by hypothesis: the log that they leave, and the plain facts beside it.

Members acknowledge, locks expire, sessions close, topics lose their beginning, writes are merged or become snapshots,
late writers are ignored, offsets are altered; and some of it was written by an earlier kproxy, whose headers said less.
Each step writes a record to the log and, if it counts, a `Fact`; the jobs are asked about the log, and what they answer
is compared with what is counted from the facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from hypothesis import strategies as st

from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateBatch, lay_over
from kproxy.statelog.actors import Actor, Cause, OffsetRange
from kproxy.statelog.claims import Claim
from kproxy.statelog.state_records import (
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    encode_state_record,
)
from kproxy.wire.records import Record
from tests.spark.delivery_ends import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    EARLIER,
    ENDS,
    at_limit,
    of_earlier_kproxy,
    over,
    settling,
)

FIRST_MS: Final = 1_795_280_000_000
TOPIC_ID: Final = TopicId(bytes(15) + b"\x01")
DELIVERY_LIMIT: Final = 5
MEMBERS: Final = ("alice", "bob", "carol")
DAVE: Final = Actor(Cause.ACKNOWLEDGE, "dave", "dave-client", "/10.0.0.2")

_WRITES: Final = (
    *("merged", "redone", "as-snapshot", "snapshot", "load", "stale", "alter-offsets", "log-start"),
)
"""What else is written, or how."""
STEP_KINDS: Final = (
    *ENDS,
    *("accept", "release", "lock-timeout"),
    *(f"{EARLIER}{end}" for end in ENDS if end != "gap"),
    *_WRITES,
)
"""What `Step.kind` may be; records are mostly accepted."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What happened to records, both offsets inclusive. `state` is None where the log cannot tell it.

    `ended_by` is what ended them for good, None when they go on; no `member` did what happened to the topic.
    """

    key: SharePartitionKey
    time_ms: int
    log_offset: int
    event: str
    member: str | None
    first_offset: int
    last_offset: int
    state: RecordState | None
    delivery_count: int | None
    ended_by: str | None

    @property
    def record_count(self) -> int:
        return self.last_offset - self.first_offset + 1


@dataclass(frozen=True, slots=True)
class Written:
    """What a record that counts says of its share-partition. `end_offset` is behind all of its batches, or 0."""

    key: SharePartitionKey
    time_ms: int
    log_offset: int
    start_offset: int
    complete_count: int
    end_offset: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class Step:
    """What to do next, as hypothesis draws it. `first` counts from the first open offset."""

    partition: int
    kind: str
    member: str
    first: int
    length: int
    pause_ms: int


STEPS: Final = st.lists(
    st.builds(
        Step,
        partition=st.integers(0, 2),
        kind=st.sampled_from(STEP_KINDS),
        member=st.sampled_from(MEMBERS),
        first=st.integers(0, 6),
        length=st.integers(1, 8),
        pause_ms=st.integers(0, 40_000),
    ),
    min_size=5,
    max_size=60,
)


@dataclass(slots=True)
class Partition:
    """A share-partition, offset by offset: delivery count and state."""

    key: SharePartitionKey
    known: dict[int, tuple[int, RecordState]] = field(default_factory=dict)
    start_offset: int = 0
    snapshot_epoch: int = 0
    state_epoch: int = 1
    leader_epoch: int = 0

    def is_open(self, offset: int) -> bool:
        return self.known.get(offset, (0, AVAILABLE))[1] is AVAILABLE

    def first_open(self) -> int:
        offset = self.start_offset
        while not self.is_open(offset):
            offset += 1
        return offset

    def end(self, first: int, length: int, state: RecordState) -> StateBatch:
        """Have a run of open records, all delivered equally often, end a delivery in `state`."""
        while not self.is_open(first):
            first += 1
        count = self.known.get(first, (0, AVAILABLE))[0]
        last = first
        while last - first + 1 < length and self.is_open(last + 1):
            if self.known.get(last + 1, (0, AVAILABLE))[0] != count:
                break
            last += 1
        if state is AVAILABLE and count + 1 >= DELIVERY_LIMIT:
            state = ARCHIVED
        self.known |= dict.fromkeys(range(first, last + 1), (count + 1, state))
        return StateBatch(first, last, state, count + 1)

    def done_from(self, start_offset: int) -> int:
        return sum(1 for offset in self.known if offset >= start_offset and not self.is_open(offset))

    def batches(self, start_offset: int) -> tuple[StateBatch, ...]:
        single = (StateBatch(offset, offset, state, count) for offset, (count, state) in self.known.items())
        return lay_over((), single, start_offset)


class Consumption:
    """Makes the log of one state-log partition out of steps. Its groups end in its number."""

    def __init__(self, number: int) -> None:
        self.written: list[Written] = []
        self.records: list[Record] = []
        self.facts: list[Fact] = []
        self.now_ms = FIRST_MS
        self.partitions = [
            Partition(SharePartitionKey(GroupId(f"{group}-{number}"), TOPIC_ID, partition))
            for group, partition in (("orders", 0), ("orders", 1), ("mail", 0))
        ]
        self._append(Claim("first:1", 1), (), claim_epoch=None)
        self._append(Claim("second:1", 1), (), claim_epoch=None)
        for partition in self.partitions:
            self._snapshot(partition, Actor(Cause.INITIALIZE))

    def take(self, step: Step) -> None:
        """Let one thing happen."""
        self.now_ms += step.pause_ms
        partition = self.partitions[step.partition]
        member = Actor(Cause.ACKNOWLEDGE, step.member, f"{step.member}-client", "/10.0.0.1")
        match step.kind:
            case "snapshot":
                self._snapshot(partition, Actor(Cause.SNAPSHOT))
            case "load":
                partition.leader_epoch += 1
                self._update(partition, partition.start_offset, (), (Actor(Cause.LOAD),))
            case "alter-offsets":
                self._alter_offsets(partition, step)
            case "log-start":
                self._lose_beginning(partition, step)
            case _:
                _OF_MEMBERS.get(step.kind, Consumption._end_delivery)(self, partition, step, member)

    def _stale(self, partition: Partition, _: Step, member: Actor) -> None:
        batch = StateBatch(partition.first_open(), partition.first_open() + 2, ARCHIVED, 1)
        self._update(partition, partition.start_offset, (batch,), (over(member, batch),), claim_epoch=0)

    def _as_snapshot(self, partition: Partition, step: Step, member: Actor) -> None:
        batch = partition.end(partition.first_open() + step.first, step.length, ACKNOWLEDGED)
        actor = over(settling(member, batch, AcknowledgeType.ACCEPT), batch)
        self._fact(partition, "accept", step.member, batch, "accept")
        self._snapshot(partition, actor)
        partition.start_offset = partition.first_open()

    def _end_delivery(self, partition: Partition, step: Step, member: Actor) -> None:
        start_offset = partition.start_offset
        event = step.kind.removeprefix(EARLIER)
        cause, acknowledge_type, state = ENDS[event]
        batch = partition.end(partition.first_open() + step.first, step.length, state)
        ended_by = None if batch.state is AVAILABLE else event if state is not AVAILABLE else "delivery-limit"
        actor = settling(replace(member, cause=cause), batch, acknowledge_type)
        if step.kind.startswith(EARLIER):
            actor, event, ended_by = of_earlier_kproxy(actor, event, ended_by)
        self._fact(partition, event, step.member, batch, ended_by)
        self._update(partition, start_offset, (batch,), (over(actor, batch),))

    def _merged(self, partition: Partition, step: Step, member: Actor) -> None:
        """Two writes in one record: the start offset of the second is behind what the first one did."""
        first = partition.end(partition.first_open(), step.length, ACKNOWLEDGED)
        partition.start_offset = partition.first_open()
        second = partition.end(partition.first_open(), step.length, AVAILABLE)
        self._fact(partition, "accept", step.member, first, "accept", is_told=False)
        self._fact(partition, "release", "dave", second, at_limit(second))
        actors = (
            over(settling(member, first, AcknowledgeType.ACCEPT), first),
            over(settling(DAVE, second, AcknowledgeType.RELEASE), second),
        )
        self._update(partition, partition.start_offset, (second,), actors)

    def _redone(self, partition: Partition, step: Step, member: Actor) -> None:
        """Two writes in one record: the second settles what the first one gave back, and maybe more."""
        start_offset = partition.start_offset
        first = partition.end(partition.first_open(), step.length, AVAILABLE)
        if first.state is ARCHIVED:
            self._fact(partition, "release", step.member, first, "delivery-limit")
            actor = settling(member, first, AcknowledgeType.RELEASE)
            self._update(partition, start_offset, (first,), (over(actor, first),))
            return
        second = partition.end(first.first_offset, step.length, ARCHIVED)
        self._fact(partition, "release", step.member, first, None, is_told=False)
        self._fact(partition, "reject", "dave", second, "reject")
        actors = (
            over(settling(member, first, AcknowledgeType.RELEASE), first),
            over(settling(DAVE, second, AcknowledgeType.REJECT), second),
        )
        self._update(partition, start_offset, (second,), actors)

    def _lose_beginning(self, partition: Partition, step: Step) -> None:
        log_start = partition.first_open() + step.length
        lost: list[OffsetRange] = []
        for offset in filter(partition.is_open, range(partition.start_offset, log_start)):
            is_next = bool(lost) and lost[-1][1] == offset - 1
            lost.append((lost.pop()[0] if is_next else offset, offset))
        for first, last in lost:
            batch = StateBatch(first, last, ARCHIVED, 0)
            self._fact(partition, "log-start-moved", None, batch, "log-start", is_told=False)
        partition.known = {offset: known for offset, known in partition.known.items() if offset >= log_start}
        partition.start_offset = log_start
        self._update(partition, log_start, (), (Actor(Cause.LOG_START_MOVED, offset_ranges=tuple(lost)),))

    def _alter_offsets(self, partition: Partition, step: Step) -> None:
        partition.start_offset = max(0, partition.start_offset - 5 + step.first)
        partition.known.clear()
        partition.state_epoch += 1
        partition.leader_epoch = 0
        self._snapshot(partition, Actor(Cause.ALTER_OFFSETS))

    def _snapshot(self, partition: Partition, actor: Actor) -> None:
        snapshot = ShareSnapshot(
            partition.key,
            SnapshotEpoch(partition.snapshot_epoch),
            StateEpoch(partition.state_epoch),
            LeaderEpoch(partition.leader_epoch),
            partition.start_offset,
            self.now_ms,
            self.now_ms,
            partition.done_from(partition.start_offset),
            partition.batches(partition.start_offset),
        )
        partition.snapshot_epoch += 1
        self._append(snapshot, (actor,))

    def _update(
        self,
        partition: Partition,
        start_offset: int,
        batches: tuple[StateBatch, ...],
        actors: Sequence[Actor],
        *,
        claim_epoch: int = 1,
    ) -> None:
        update = ShareUpdate(
            partition.key,
            SnapshotEpoch(partition.snapshot_epoch - 1),
            LeaderEpoch(partition.leader_epoch),
            start_offset,
            partition.done_from(start_offset),
            batches,
        )
        self._append(update, actors, claim_epoch=claim_epoch)
        if claim_epoch == 1:
            partition.start_offset = partition.first_open()

    def _append(self, record: StateRecord, actors: Sequence[Actor], *, claim_epoch: int | None = 1) -> None:
        if claim_epoch == 1 and isinstance(record, ShareSnapshot | ShareUpdate):
            self.written.append(self._written(record, actors[0].cause))
        encoded = encode_state_record(record, claim_epoch=claim_epoch, actors=actors)
        self.records.append(replace(encoded, timestamp_ms=self.now_ms, offset=len(self.records)))

    def _written(self, record: ShareSnapshot | ShareUpdate, cause: Cause) -> Written:
        return Written(
            record.key,
            self.now_ms,
            len(self.records),
            record.start_offset,
            record.delivery_complete_count,
            max((batch.last_offset + 1 for batch in record.state_batches), default=0),
            cause,
        )

    def _fact(
        self,
        partition: Partition,
        event: str,
        member: str | None,
        batch: StateBatch,
        ended_by: str | None,
        *,
        is_told: bool = True,
    ) -> None:
        self.facts.append(
            Fact(
                partition.key,
                self.now_ms,
                len(self.records),
                event,
                member,
                batch.first_offset,
                batch.last_offset,
                batch.state if is_told else None,
                batch.delivery_count if is_told else None,
                ended_by,
            )
        )


_OF_MEMBERS: Final = {
    "stale": Consumption._stale,
    "as-snapshot": Consumption._as_snapshot,
    "merged": Consumption._merged,
    "redone": Consumption._redone,
}
"""What members do but for ending one delivery."""


def consumption_of(number: int, steps: Sequence[Step]) -> Consumption:
    """Return what these steps make, as the log partition of this number."""
    made = Consumption(number)
    for step in steps:
        made.take(step)
    return made
