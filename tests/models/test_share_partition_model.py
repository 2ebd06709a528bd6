"""`SharePartition` against a dict per offset, which knows nothing of runs, with a clock, a log and crashes.

The log is a list of record batches that grows, loses batches to compaction and its head to retention. Whatever
became durable is folded; at any step the share-partition may be discarded and built again from that.
"""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kproxy.errors import ApiError
from kproxy.share.acknowledgement import AcknowledgementBatch
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    MemberId,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.limits import ShareLimits
from kproxy.share.operators.settlement import OperatorAction
from kproxy.share.record_state import PERMITTED_TRANSITIONS, RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.durable_state import DurableShareState
from tests.models.naive_share_partition import (
    ACKNOWLEDGED,
    ACQUIRED,
    AVAILABLE,
    NaiveSharePartition,
    Reach,
    Record,
    Undo,
)
from tests.worlds.share_builders import SaidBatch

MEMBERS = [MemberId("alice"), MemberId("bob"), MemberId("carol")]
NODES = st.sampled_from([1, 2])
"""The leader before and the one after: a member has a session with each for a while."""
KEY = SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), 0)
LOCK_MS = 30
LIMITS = ShareLimits(delivery_count_limit=5, record_lock_duration_ms=LOCK_MS, partition_max_record_locks=40)


REACHES = st.builds(
    Reach,
    max_records=st.sampled_from([0, 1, 2, 5, 12, 100]),
    batch_size=st.sampled_from([1, 4, 10, 100]),
    is_record_limit=st.booleans(),
)


ABORTED = st.just(frozenset[int]()) | st.frozensets(st.integers(0, 8))
"""Mostly none: then the group reads uncommitted records, or no transaction was aborted."""


class SharePartitionMachine(RuleBasedStateMachine):
    """Drives both, and a durable state that lags behind by what was not answered yet."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log: list[tuple[int, int]] = []
        self.log_end = 3
        self.durable = DurableShareState(StateEpoch(1), LeaderEpoch(0), SnapshotEpoch(0), 3, 0, ())
        self.naive_durable: dict[int, tuple[int, int]] = {}
        self.unanswered: list[StateDelta] = []
        self.undos: list[Undo] = []
        """How the naive one undoes each of them."""
        self.accepted: set[int] = set()
        self.highest_limit = LIMITS.delivery_count_limit
        self.read: tuple[int, list[tuple[int, int]]] | None = None
        self.build()

    def build(self) -> None:
        state = self.durable
        self.partition = SharePartition(
            KEY, start_offset=state.start_offset, state_batches=state.state_batches, limits=LIMITS
        )
        self.naive = NaiveSharePartition(state.start_offset, state.state_batches, LIMITS)
        self.states: dict[int, RecordState] = {}

    def changed(self, delta: StateDelta, expected: dict[int, Record], start: int, undo: Undo) -> None:
        """Compare a delta with the offsets that the naive one changed, and queue it."""
        offsets = {
            offset: (batch.delivery_count, batch.state)
            for batch in delta.batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        }
        assert offsets == {offset: (record.count, record.state) for offset, record in expected.items()}
        assert delta.is_empty == (delta.start_offset == -1)
        if not delta.is_empty:
            assert delta.start_offset == start
            terminal = [record for record in self.naive.records.values() if record.is_terminal]
            assert delta.delivery_complete_count == len(terminal) + self.naive.start - start
            self.unanswered.append(delta)
            self.undos.append(undo)

    @initialize(sizes=st.lists(st.integers(1, 8), min_size=8, max_size=12))
    def begin(self, sizes: list[int]) -> None:
        self.produce(sizes)

    @rule(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=4))
    def produce(self, sizes: list[int]) -> None:
        for size in sizes:
            self.log.append((self.log_end, self.log_end + size - 1))
            self.log_end += size

    @precondition(lambda self: self.log)
    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        self.log.remove(data.draw(st.sampled_from(self.log)))

    @rule(batch_count=st.integers(1, 5))
    def read_log(self, batch_count: int) -> None:
        fetch_offset = self.partition.next_fetch_offset()
        self.read = fetch_offset, [batch for batch in self.log if batch[1] >= fetch_offset][:batch_count]

    @rule(
        member=st.sampled_from(MEMBERS),
        node_id=NODES,
        reach=REACHES,
        batch_count=st.integers(1, 9),
        aborted=ABORTED,
    )
    def fetch(
        self, member: MemberId, node_id: int, reach: Reach, batch_count: int, aborted: frozenset[int]
    ) -> None:
        self.read_log(batch_count)
        self.acquire(member, node_id, reach, aborted)

    @precondition(lambda self: self.read)
    @rule(member=st.sampled_from(MEMBERS), node_id=NODES, reach=REACHES, aborted=ABORTED)
    def acquire_late(self, member: MemberId, node_id: int, reach: Reach, aborted: frozenset[int]) -> None:
        """Much may have happened since the log was read."""
        self.acquire(member, node_id, reach, aborted)

    def acquire(self, member: MemberId, node_id: int, reach: Reach, aborted: frozenset[int]) -> None:
        """Acquire from the last read; `aborted` are the numbers of the batches in it whose transaction was aborted."""
        assert self.read is not None
        fetch_offset, extents = self.read
        self.read = None
        aborted_extents = [extent for number, extent in enumerate(extents) if number in aborted]
        acquired = self.partition.acquire(
            member,
            extents,
            fetch_offset=fetch_offset,
            max_records=reach.max_records,
            batch_size=reach.batch_size,
            is_record_limit=reach.is_record_limit,
            now_ms=self.now_ms,
            node_id=node_id,
            aborted=aborted_extents,
        )
        expected = self.naive.acquire(
            member,
            extents,
            fetch_offset=fetch_offset,
            reach=reach,
            node_id=node_id,
            now_ms=self.now_ms,
            aborted=aborted_extents,
        )
        assert [(run.first_offset, run.last_offset, run.delivery_count) for run in acquired] == expected
        offsets = {offset for first, last, _ in expected for offset in range(first, last + 1)}
        assert not self.accepted & offsets
        assert all(self.naive.records[o].state is ACQUIRED for o in offsets if o >= self.naive.start)
        if reach.is_record_limit:
            assert len(offsets) <= reach.max_records

    @precondition(lambda self: self.naive.records)
    @rule(
        member=st.sampled_from(MEMBERS),
        node_id=NODES,
        first=st.integers(-3, 45),
        lengths=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=3),
        types=st.lists(st.sampled_from([0, 1, 1, 2, 3, 4]), min_size=40, max_size=40),
    )
    def acknowledge_anything(
        self,
        member: MemberId,
        node_id: int,
        first: int,
        lengths: list[tuple[int, int]],
        types: list[int],
    ) -> None:
        batches = []
        first += self.naive.start
        for gap, length in lengths:
            first += gap
            batches.append(SaidBatch(first, first + length - 1, types[:length]))
            first += length
        self.acknowledge(member, node_id, batches)

    @precondition(lambda self: any(record.member for record in self.naive.records.values()))
    @rule(data=st.data())
    def acknowledge_what_is_held(self, data: st.DataObject) -> None:
        member = data.draw(st.sampled_from([r.member for r in self.naive.records.values() if r.member]))
        held = [o for o, record in self.naive.records.items() if record.member == member]
        first = data.draw(st.sampled_from(held))
        last = first
        while last + 1 in held and data.draw(st.integers(0, 5)):
            last += 1
        types = data.draw(
            st.lists(st.sampled_from([0, 1, 2, 3, 4]), min_size=last - first + 1, max_size=last - first + 1)
            | st.sampled_from([[1], [2], [4]])
        )
        again = data.draw(st.sampled_from([None, None, None, last, last + 1]))
        batches = [SaidBatch(first, last, types)]
        if again is not None:
            batches.append(SaidBatch(again, again, [1]))
        self.acknowledge(member, data.draw(NODES), batches)

    def acknowledge(self, member: MemberId, node_id: int, batches: Sequence[AcknowledgementBatch]) -> None:
        start, records = self.naive.start, self.naive.copied_records()
        expected: dict[int, Record] | type[ApiError]
        try:
            expected = self.naive.acknowledge(member, batches, node_id=node_id, now_ms=self.now_ms)
        except ApiError as error:
            expected = type(error)
        if isinstance(expected, type):
            before = self.partition.view()
            with pytest.raises(expected):
                self.partition.acknowledge(member, batches, node_id=node_id, now_ms=self.now_ms)
            assert self.naive.renewed or self.partition.view() == before
        else:
            delta = self.partition.acknowledge(member, batches, node_id=node_id, now_ms=self.now_ms)
            self.changed(delta, expected, start, self.undo_of(expected, start, records))
            has_passed = any(batch.first_offset < start for batch in batches)
            assert delta.is_empty == (not expected and not has_passed)

    @rule(member=st.sampled_from(MEMBERS), node_id=NODES)
    def release(self, member: MemberId, node_id: int) -> None:
        start, records = self.naive.start, self.naive.copied_records()
        delta = self.partition.release(member, node_id=node_id)
        expected = self.naive.take_back(session=(member, node_id))
        self.changed(delta, expected, start, self.undo_of(expected, start, records))

    @precondition(lambda self: self.naive.records)
    @rule(
        action=st.sampled_from(OperatorAction),
        places=st.lists(st.tuples(st.integers(-1, 15), st.integers(0, 5)), min_size=1, max_size=2),
    )
    def operate(self, action: OperatorAction, places: list[tuple[int, int]]) -> None:
        """An operator takes records from whoever holds them: all of what is named, or nothing."""
        spans = [(self.naive.start + first, self.naive.start + first + more) for first, more in places]
        start, records, before = self.naive.start, self.naive.copied_records(), self.partition.view()
        try:
            expected = self.naive.operate(action, spans)
        except ApiError as error:
            with pytest.raises(type(error)):
                self.partition.plan(action, spans)
            assert self.partition.view() == before
            return
        settlement = self.partition.plan(action, spans)
        assert self.partition.view() == before
        self.changed(
            self.partition.settle(settlement), expected, start, self.undo_of(expected, start, records)
        )

    def undo_of(self, changed: dict[int, Record], start: int, before: dict[int, Record]) -> Undo:
        """Return how the naive one undoes what `changed`, with the records and the start offset `before`."""
        passed = {offset: changed.get(offset, before[offset]) for offset in range(start, self.naive.start)}
        return Undo(start, {offset: before[offset] for offset in changed}, passed)

    @rule(duration_ms=st.integers(1, LOCK_MS))
    def let_time_pass(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @rule()
    def expire_locks(self) -> None:
        start = self.naive.start
        delta = self.partition.expire_locks(self.now_ms)
        self.changed(delta, self.naive.take_back(now_ms=self.now_ms), start, Undo(start, {}))

    @rule(distance=st.integers(-2, 12) | st.just(60))
    def move_start(self, distance: int) -> None:
        log_start = self.naive.start + distance
        delta = self.partition.move_start(log_start)
        self.naive.move_start(log_start)
        assert delta.is_empty == (distance <= 0)
        self.changed(delta, {}, log_start, Undo(log_start, {}))
        self.log_end = max(self.log_end, log_start)
        self.log = [batch for batch in self.log if batch[1] >= log_start]

    @rule(count=st.integers(2, 7), locks=st.sampled_from([5, 40]), duration_ms=st.sampled_from([10, LOCK_MS]))
    def change_limits(self, count: int, locks: int, duration_ms: int) -> None:
        limits = ShareLimits(count, duration_ms, locks)
        self.partition.limits = self.naive.limits = limits
        self.highest_limit = max(self.highest_limit, count)

    @rule()
    def answer(self) -> None:
        self.make_durable(len(self.unanswered))

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        """An append is refused for good, with all that waits behind it."""
        self.make_durable(data.draw(st.integers(0, len(self.unanswered) - 1)))
        deltas, undos = self.unanswered[:], self.undos[:]
        self.unanswered.clear()
        self.undos.clear()
        for delta, undo in reversed(list(zip(deltas, undos, strict=True))):
            self.partition.take_back(delta)
            self.naive.undo(undo)
        self.states.clear()

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        """Some of what was not answered may have become durable all the same, in order."""
        self.make_durable(data.draw(st.integers(0, len(self.unanswered))))
        self.unanswered.clear()
        self.undos.clear()
        self.partition.fence()
        self.build()

    def make_durable(self, count: int) -> None:
        for delta in self.unanswered[:count]:
            start = self.durable.start_offset
            self.durable = self.durable.after(delta)
            assert self.durable.start_offset >= start
            for batch in delta.batches:
                for offset in range(batch.first_offset, batch.last_offset + 1):
                    new = batch.delivery_count, batch.state
                    self.naive_durable[offset] = max(self.naive_durable.get(offset, (0, AVAILABLE)), new)
                    if batch.state is ACKNOWLEDGED:
                        self.accepted.add(offset)
        del self.unanswered[:count], self.undos[:count]
        assert {
            offset: (batch.delivery_count, batch.state)
            for batch in self.durable.state_batches
            for offset in range(batch.first_offset, batch.last_offset + 1)
        } == {o: record for o, record in self.naive_durable.items() if o >= self.durable.start_offset}

    @invariant()
    def both_hold_the_same(self) -> None:
        view = self.partition.view()
        expanded = {
            offset: (run.state, run.delivery_count, run.member_id, run.lock_deadline_ms)
            for run in view.ranges
            for offset in range(run.first_offset, run.last_offset + 1)
        }
        naive = self.naive
        assert expanded == {
            offset: (r.state, r.count, r.member, None if r.member is None else r.deadline_ms)
            for offset, r in naive.records.items()
        }
        assert view.start_offset == naive.start
        assert view.last_offset == max(naive.end - 1, naive.start)
        assert self.partition.next_fetch_offset() == naive.next_fetch_offset()
        available = [r for r in naive.records.values() if r.state is AVAILABLE]
        assert self.partition.available_count == len(available)
        is_open = naive.end - naive.start < naive.limits.partition_max_record_locks
        assert self.partition.can_acquire() == (is_open or bool(available) or naive.is_done_with())

    @invariant()
    def every_transition_is_permitted(self) -> None:
        states = {offset: record.state for offset, record in self.naive.records.items()}
        for offset, state in states.items():
            before = self.states.get(offset, state)
            assert before is state or state in PERMITTED_TRANSITIONS[before]
        self.states = states

    @invariant()
    def the_window_is_sound(self) -> None:
        naive = self.naive
        assert list(naive.records) == list(range(naive.start, naive.end))
        assert all(record.count <= self.highest_limit for record in naive.records.values())

    @invariant()
    def no_lock_is_forgotten(self) -> None:
        deadlines = [r.deadline_ms for r in self.naive.records.values() if r.state is ACQUIRED]
        deadline_ms = self.partition.next_deadline_ms()
        assert (deadline_ms is None) == (not deadlines)
        assert deadline_ms is None or deadline_ms <= min(deadlines)

    @invariant()
    def runs_are_maximal(self) -> None:
        runs = list(self.partition._ranges)
        for left, right in pairwise(runs):
            assert left.last_offset + 1 == right.first_offset
            assert (left.state, left.delivery_count, left.lock) != (
                right.state,
                right.delivery_count,
                right.lock,
            )


TestSharePartition = SharePartitionMachine.TestCase
TestSharePartition.settings = settings(
    max_examples=4 * settings().max_examples,  # one example reaches few of the many states
    stateful_step_count=60,
)
