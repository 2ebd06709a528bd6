"""No violation is found in what the proxy's own parts write, whatever happens to them.

The share-partitions, the queue and the coordinator are the real ones, and so are the actors. Members acquire, settle
and leave, locks end, the topic has holes and loses its beginning, appends are refused, the process
is killed, its late writes land behind the next claim, operators write what they like, and the log is pruned.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.handlers.live.write_actors import (
    Client,
    acknowledged_by,
    holders_due,
    log_start_moved,
    released_by,
    timed_out,
)
from kproxy.jobs.verify.verify_rules import NOTICE, VIOLATION, Examiner, Problem
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    MemberId,
    SharePartitionKey,
    StateEpoch,
    TopicId,
)
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.claims import Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import (
    ColdSnapshots,
    Delete,
    Initialize,
    Load,
    Write,
    requested_write,
)
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import encode_state_record
from kproxy.wire.records import Record
from tests.worlds.share_builders import SaidBatch

KEYS: Final = tuple(SharePartitionKey(GroupId(group), TopicId(bytes(16)), 0) for group in ("a", "b"))
MEMBERS: Final = (MemberId("alice"), MemberId("bob"))
LIMITS: Final = ShareLimits()
COORDINATOR: Final = CoordinatorLimits(updates_per_snapshot=3)
BATCHES: Final = tuple((first, first + 4) for first in range(0, 3000, 5))
BATCHES_WITH_HOLES: Final = tuple((first, first + 3) for first in range(0, 4000, 7))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens. What its numbers mean depends on the kind."""

    kind: str
    key: SharePartitionKey
    member: MemberId
    number: int
    length: int


@dataclass(slots=True)
class Live:
    """A share-partition in memory, with what it was loaded with."""

    share_partition: SharePartition
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch


class World:
    """A process on a log, and the topic that is consumed."""

    def __init__(self, extents: Sequence[tuple[int, int]]) -> None:
        self.extents = extents
        self.log_start = 0
        self.records: list[Record] = []
        self.next_offset = 0
        self.now_ms = 1_000
        self.state_epochs = dict.fromkeys(KEYS, 0)
        self.live: dict[SharePartitionKey, Live] = {}
        self.in_doubt: list[SharePartitionKey] = []
        self.begin_process()

    # ------------------------------------------------ the state log

    def begin_process(self) -> None:
        """Claim, read, and hold nothing in memory."""
        self.live.clear()
        self.in_doubt.clear()
        self.claim_epoch = self.next_offset
        self.append([encode_state_record(Claim("kproxy", 1), claim_epoch=None, actors=())])
        self.fold = StateLogFold()
        for record in self.records:
            self.fold.apply(record)
        self.commit = StateQueue(ShareCoordinator(self.fold, COORDINATOR))

    def append(self, records: Sequence[Record]) -> int:
        base_offset = self.next_offset
        for record in records:
            self.records.append(replace(record, offset=self.next_offset, timestamp_ms=self.now_ms))
            self.next_offset += 1
        return base_offset

    def drafted(self) -> Sequence[Record]:
        append = self.commit.next_append(self.now_ms, max_bytes=2**20, claim_epoch=self.claim_epoch)
        return () if append is None else append.records

    def flush(self) -> None:
        while records := self.drafted():
            self.commit.succeeded(self.append(records))

    # ------------------------------------------------ share-partitions

    def loaded(self, key: SharePartitionKey) -> SharePartition | None:
        if key not in self.live:
            ticket = self.commit.submit(Load(key))
            self.flush()
            state = ticket.response
            if not isinstance(state, DurableShareState):
                return None
            start_offset = self.log_start if state.start_offset < 0 else state.start_offset
            share_partition = SharePartition(
                key, start_offset=start_offset, state_batches=state.state_batches, limits=LIMITS
            )
            self.live[key] = Live(share_partition, state.state_epoch, state.leader_epoch)
        return self.live[key].share_partition

    def persist(self, key: SharePartitionKey, delta: StateDelta, actors: tuple[Actor, ...]) -> None:
        if not delta.is_empty:
            live = self.live[key]
            self.commit.submit(Write(key, live.state_epoch, live.leader_epoch, delta, actors))

    # ------------------------------------------------ what happens

    def take(self, step: Step) -> None:
        doubted, self.in_doubt = self.in_doubt, []
        self.now_ms += 10
        with suppress(ApiError):  # a lock that ran out, a state that operators have made unusable
            STEPS[step.kind](self, step)
        for key in doubted:
            self.live.pop(key, None)

    def fetch(self, step: Step) -> None:
        share_partition = self.loaded(step.key)
        if share_partition is None:
            return
        fetch_offset = share_partition.next_fetch_offset()
        found = [extent for extent in self.extents if extent[1] >= max(fetch_offset, self.log_start)]
        share_partition.acquire(
            step.member,
            found[: step.number + 1],
            fetch_offset=fetch_offset,
            max_records=step.length,
            batch_size=5,
            is_record_limit=bool(step.number % 2),
            now_ms=self.now_ms,
        )

    def acknowledge(self, step: Step) -> None:
        share_partition = self.loaded(step.key)
        if share_partition is None:
            return
        held = [run for run in share_partition.view().ranges if run.member_id == step.member]
        for run in held[step.number % 2 : step.number % 2 + 1]:
            last = min(run.last_offset, run.first_offset + step.length)
            batch = SaidBatch(run.first_offset, last, [step.number % 4])
            delta = share_partition.acknowledge(step.member, [batch], now_ms=self.now_ms)
            self.persist(step.key, delta, acknowledged_by(step.member, Client(), [batch], delta))

    def leave(self, step: Step) -> None:
        if (share_partition := self.loaded(step.key)) is not None:
            delta = share_partition.release(step.member)
            self.persist(step.key, delta, released_by(step.member, Client(), delta))

    def expire(self, step: Step) -> None:
        if (share_partition := self.loaded(step.key)) is not None:
            self.now_ms += LIMITS.record_lock_duration_ms
            holders = holders_due(share_partition.view(), self.now_ms)
            delta = share_partition.expire_locks(self.now_ms)
            self.persist(step.key, delta, timed_out(holders, delta, lambda _: Client()))

    def lose_beginning(self, step: Step) -> None:
        self.log_start += step.length
        if (share_partition := self.loaded(step.key)) is not None:
            before = share_partition.view()
            delta = share_partition.move_start(self.log_start)
            self.persist(step.key, delta, log_start_moved(before, self.log_start))

    def write(self, _: Step) -> None:
        self.flush()

    def unload(self, step: Step) -> None:
        self.flush()
        self.live.pop(step.key, None)

    def be_refused(self, _: Step) -> None:
        """The next append is not written; what was made on top of it is told a step later."""
        self.drafted()
        self.commit.fail(StateLogUnavailable("refused"))
        self.in_doubt = list(self.live)

    def die(self, step: Step) -> None:
        """Before the next claim its last append may have landed; or it lands behind that, with a hole before it."""
        late = self.drafted()
        if step.number == 0:
            self.append(late)
        self.next_offset += step.number % 2
        self.begin_process()
        if step.number == 3:
            self.append(late)
            self.begin_process()

    def initialize(self, step: Step) -> None:
        """Begin a state anew; under the state epoch that it has, nobody does but an operator."""
        self.live.pop(step.key, None)
        self.state_epochs[step.key] += step.number // 2
        state_epoch = StateEpoch(self.state_epochs[step.key])
        actor = Actor(Cause.INITIALIZE if step.number // 2 else Cause.OPERATOR)
        start_offset = (-1, step.length * 3)[step.number % 2]
        self.commit.submit(Initialize(step.key, state_epoch, start_offset, actor))

    def delete(self, step: Step) -> None:
        self.live.pop(step.key, None)
        self.commit.submit(Delete(step.key))

    def operate(self, step: Step) -> None:
        """Somebody writes a state as brokers do, with the epochs that he read."""
        self.live.pop(step.key, None)
        self.flush()
        state = self.fold.states.get(step.key)
        if state is None:
            return
        first = max(state.start_offset, 0) + step.length - 5
        batch = StateBatch(
            max(first, 0),
            max(first, 0) + step.length,
            tuple(RecordState)[step.number % 2 * 2],
            step.number % 3,
        )
        delta = StateDelta((-1, step.length)[step.number % 2], step.number - 1, (batch,))
        self.commit.submit(requested_write(step.key, state.state_epoch, state.leader_epoch, delta))

    def snapshot(self, _: Step) -> None:
        self.flush()
        self.commit.submit(ColdSnapshots(self.now_ms))


STEPS: Final[Mapping[str, Callable[[World, Step], None]]] = {
    "fetch": World.fetch,
    "acknowledge": World.acknowledge,
    "leave": World.leave,
    "expire": World.expire,
    "lose beginning": World.lose_beginning,
    "write": World.write,
    "unload": World.unload,
    "be refused": World.be_refused,
    "die": World.die,
    "initialize": World.initialize,
    "delete": World.delete,
    "operate": World.operate,
    "snapshot": World.snapshot,
}
_OFTEN: Final = ("fetch", "fetch", "acknowledge", "acknowledge", "acknowledge", "write", "leave", "expire")
_RARELY: Final = frozenset({"delete", "operate", "lose beginning"})


def steps(kinds: Sequence[str]) -> st.SearchStrategy[list[Step]]:
    each = st.builds(
        Step,
        kind=st.sampled_from((*_OFTEN, *kinds)),
        key=st.sampled_from(KEYS),
        member=st.sampled_from(MEMBERS),
        number=st.integers(0, 3),
        length=st.integers(1, 9),
    )
    return st.lists(each, min_size=20, max_size=70)


def log_of(extents: Sequence[tuple[int, int]], taken: Sequence[Step]) -> list[Record]:
    """Return the log that is left when both share-partitions were begun and these steps taken."""
    world = World(extents)
    for key in KEYS:
        world.commit.submit(Initialize(key, StateEpoch(0), 0))
    for step in taken:
        world.take(step)
    world.flush()
    return world.records


def problems_in(records: Sequence[Record]) -> list[Problem]:
    examiner = Examiner(StateLogFold(on_corrupt="skip"), LIMITS.delivery_count_limit)
    return [*(problem for record in records for problem in examiner.examine(record)), *examiner.orphans()]


@settings(max_examples=80)
@given(extents=st.sampled_from((BATCHES, BATCHES_WITH_HOLES)), taken=steps(tuple(STEPS)))
def test_nothing_that_the_proxy_writes_is_a_violation(
    extents: Sequence[tuple[int, int]], taken: Sequence[Step]
) -> None:
    # Given
    records = log_of(extents, taken)

    # When
    problems = problems_in(records)

    # Then
    assert [problem for problem in problems if problem.what == VIOLATION] == []


@settings(max_examples=40)
@given(taken=steps(tuple(STEPS)))
def test_a_pruned_log_has_no_violation_either(taken: Sequence[Step]) -> None:
    # Given
    records = log_of(BATCHES_WITH_HOLES, taken)
    fold = StateLogFold()
    for record in records:
        fold.apply(record)

    # When
    problems = problems_in([record for record in records if record.offset >= fold.recovery_point()])

    # Then
    assert [problem for problem in problems if problem.what == VIOLATION] == []


@settings(max_examples=40)
@given(taken=steps(tuple(STEPS.keys() - _RARELY - {"die", "be refused"})))
def test_of_a_topic_without_holes_nothing_is_worth_a_notice(taken: Sequence[Step]) -> None:
    # When
    problems = problems_in(log_of(BATCHES, taken))

    # Then
    assert [problem for problem in problems if problem.what == NOTICE] == []
