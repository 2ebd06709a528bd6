"""A crash at any step of the state log: what was answered stays, what was not may go either way, and nothing tears.

Two share-partitions live on one state-log partition. Their owner queues, appends and replays with the real code;
the broker is a list. At any step the owner dies or loses its append: that append landed, did not land, or lands
later, behind the claim of the next owner or in the middle of its work.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import TERMINAL_STATES, AcknowledgeType, RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.claims import STATE_FORMAT_VERSION, Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.operations import ColdSnapshots, Delete, Initialize, Load, Operation, Write
from kproxy.statelog.pruning import prune_before
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import encode_state_record
from kproxy.statelog.tickets import Append, Ticket
from kproxy.wire.records import Record
from tests.worlds.share_builders import SaidBatch

KEYS = [SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), partition) for partition in range(2)]
MEMBERS = [MemberId("alice"), MemberId("bob")]
LIMITS = ShareLimits(delivery_count_limit=3, record_lock_duration_ms=30, partition_max_record_locks=30)

any_key = st.sampled_from(KEYS)
any_member = st.sampled_from(MEMBERS)


@dataclass
class Live:
    """A share-partition as its owner has it, and the accepted offsets that were answered in its state epoch."""

    partition: SharePartition
    state: DurableShareState


@dataclass
class Promises:
    """What clients were told of one share-partition since it was initialized, and the start offset seen durable."""

    state_epoch: int
    accepted: set[int] = field(default_factory=set)
    start_offset: int = -1


class StateLogMachine(RuleBasedStateMachine):
    """The log of one partition, its owner, and everything that may go wrong between them."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.log: list[Record] = []
        self.log_start = 0
        self.recovery_point = 0
        self.late_append: Append | None = None
        self.in_flight: Append | None = None
        self.live: dict[SharePartitionKey, Live] = {}
        self.promises: dict[SharePartitionKey, Promises] = {}

    # ------------------------------------------------ the broker

    def append(self, records: tuple[Record, ...]) -> int:
        base_offset = len(self.log)
        for record in records:
            self.log.append(replace(record, offset=len(self.log), timestamp_ms=self.now_ms))
        return base_offset

    def folded(self, *, from_offset: int) -> StateLogFold:
        fold = StateLogFold()
        for record in self.log[from_offset:]:
            fold.apply(record)
        fold.require_snapshots()
        return fold

    # ------------------------------------------------ the owner

    @initialize()
    def begin(self) -> None:
        self.claim()
        for key in KEYS:
            self.initialize_state(key, state_epoch_step=0)

    def claim(self) -> None:
        """Begin as a new owner: claim, read up to the claim, forget everything else."""
        claim = Claim("kproxy", STATE_FORMAT_VERSION)
        self.claim_epoch = self.append((encode_state_record(claim, claim_epoch=None, actors=()),))
        fold = self.folded(from_offset=self.recovery_point)
        assert dict(fold.states) == dict(self.folded(from_offset=self.log_start).states)
        self.commit = StateQueue(ShareCoordinator(fold, CoordinatorLimits(updates_per_snapshot=3)))
        self.live = {}
        self.in_flight = None

    def submit(self, operation: Operation) -> Ticket:
        return self.commit.submit(operation)

    def run_dry(self) -> None:
        """Let everything that waits become durable."""
        while self.commit.waiting_count:
            if self.in_flight is None:
                self.draft()
            if self.in_flight is not None:
                self.land_and_tell()

    def insist(self, operation: Initialize | Delete) -> None:
        """Ask again until it is known to be done, as a group coordinator does."""
        ticket = self.submit(operation)
        self.run_dry()
        while ticket.refusal is not None:
            ticket = self.submit(operation)
            self.run_dry()

    def note_durable(self, key: SharePartitionKey) -> None:
        """A state that is durable keeps its promises."""
        state = self.commit.fold.states.get(key)
        if state is None:
            return
        promises = self.promises[key]
        assert state.state_epoch == promises.state_epoch
        assert state.start_offset >= promises.start_offset
        promises.start_offset = state.start_offset
        done = offsets_done(state)
        assert all(offset < state.start_offset or offset in done for offset in promises.accepted)

    # ------------------------------------------------ members

    @rule(key=any_key, state_epoch_step=st.sampled_from([0, 0, 0, 1]))
    def initialize_state(self, key: SharePartitionKey, state_epoch_step: int) -> None:
        """Initialize; with the same state epoch it is a repetition, which must not undo anything."""
        self.run_dry()
        known = self.commit.fold.states.get(key)
        state_epoch = (1 if known is None else known.state_epoch) + state_epoch_step
        if known is None or state_epoch_step:
            self.promises[key] = Promises(state_epoch)
            self.live.pop(key, None)
        self.insist(Initialize(key, StateEpoch(state_epoch), -1))

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def delete_state(self, data: st.DataObject) -> None:
        self.run_dry()
        if not self.live:
            return
        key = data.draw(st.sampled_from(sorted(self.live)))
        self.insist(Delete(key))
        self.live.pop(key, None)
        del self.promises[key]

    def loaded(self, key: SharePartitionKey) -> Live | None:
        """Return what is in memory; load it if it is not; None when it was never initialized."""
        if key not in self.live:
            ticket = self.submit(Load(key))
            self.run_dry()
            state = ticket.response
            if isinstance(state, DurableShareState):
                partition = SharePartition(
                    key,
                    start_offset=max(state.start_offset, 0),
                    state_batches=state.state_batches,
                    limits=LIMITS,
                )
                self.live[key] = Live(partition, state)
        return self.live.get(key)

    @rule(key=any_key, member=any_member, max_records=st.sampled_from([1, 2, 5, 12]))
    def acquire(self, key: SharePartitionKey, member: MemberId, max_records: int) -> None:
        live = self.loaded(key)
        if live is None:
            return
        offset = live.partition.next_fetch_offset()
        acquired = live.partition.acquire(
            member,
            [(offset, offset + 9)],
            fetch_offset=offset,
            max_records=max_records,
            batch_size=3,
            is_record_limit=True,
            now_ms=self.now_ms,
        )
        for run in acquired:
            delivered = set(range(run.first_offset, run.last_offset + 1))
            assert not delivered & self.promises[key].accepted, "an answered acknowledgement came back"

    @rule(
        key=any_key,
        member=any_member,
        kind=st.sampled_from(
            [AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT]
        ),
        data=st.data(),
    )
    def acknowledge(
        self, key: SharePartitionKey, member: MemberId, kind: AcknowledgeType, data: st.DataObject
    ) -> None:
        self.acquire(key, member, 5)
        live = self.live.get(key)
        held = (
            [] if live is None else [run for run in live.partition.view().ranges if run.member_id == member]
        )
        if live is None or not held:
            return
        run = data.draw(st.sampled_from(held))
        first = data.draw(st.integers(run.first_offset, run.last_offset))
        last = data.draw(st.integers(first, run.last_offset))
        delta = live.partition.acknowledge(member, [SaidBatch(first, last, (kind,))], now_ms=self.now_ms)
        accepted = set(range(first, last + 1)) if kind is AcknowledgeType.ACCEPT else set()
        self.write(live, delta, Actor(Cause.ACKNOWLEDGE, member, offset_ranges=((first, last),)), accepted)

    @rule(key=any_key, member=any_member)
    def close_session(self, key: SharePartitionKey, member: MemberId) -> None:
        live = self.loaded(key)
        if live is not None:
            self.write(live, live.partition.release(member), Actor(Cause.SESSION_CLOSE, member), set())

    @rule(passed_ms=st.sampled_from([1, 15, 31]))
    def expire_locks(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        for live in self.live.values():
            self.write(live, live.partition.expire_locks(self.now_ms), Actor(Cause.LOCK_TIMEOUT), set())

    def write(self, live: Live, delta: StateDelta, actor: Actor, accepted: set[int]) -> None:
        """Queue a delta; what it accepted is promised when, and only when, its ticket says so.

        A live share-partition whose delta is refused, which may be too large for its append, is discarded.
        """
        if delta.is_empty:
            return
        key, state = live.partition.key, live.state
        promises = self.promises[key]
        ticket = self.submit(Write(key, state.state_epoch, state.leader_epoch, delta, (actor,)))

        def promise(done: Ticket) -> None:
            if done.refusal is None:
                promises.accepted |= accepted
            elif self.live.get(key) is live:
                del self.live[key]

        ticket.on_done = promise

    # ------------------------------------------------ appends, and what becomes of them

    @precondition(lambda self: self.in_flight is None)
    @rule(max_bytes=st.sampled_from([300, 600, 2**20]))
    def draft(self, max_bytes: int = 2**20) -> None:
        self.in_flight = self.commit.next_append(
            self.now_ms, max_bytes=max_bytes, claim_epoch=self.claim_epoch
        )

    @precondition(lambda self: self.in_flight)
    @rule()
    def land_and_tell(self) -> None:
        """The append ends well, unless its base offset says that somebody else wrote."""
        append = self.in_flight
        assert append is not None
        expected = self.commit.fold.applied_offset + 1
        base_offset = self.append(append.records)
        if base_offset != expected:
            self.rebuild()
            return
        self.in_flight = None
        self.commit.succeeded(base_offset)
        for key in self.commit.fold.states:
            self.note_durable(key)

    @precondition(lambda self: self.commit.waiting_count)
    @rule(becomes=st.sampled_from(["landed", "lost", "late"]), is_crash=st.booleans())
    def lose_track(self, becomes: str, is_crash: bool) -> None:  # noqa: FBT001  # drawn
        """The append's end is never heard of: the owner dies, or refuses everything; then claims and reads again."""
        if self.in_flight is None:
            self.draft()
        records = () if self.in_flight is None else self.in_flight.records
        if becomes == "landed":
            self.append(records)
        elif becomes == "late":
            self.late_append = Append(records)
        if is_crash:
            self.claim()
        else:
            self.rebuild()

    @precondition(lambda self: self.late_append)
    @rule()
    def land_late(self) -> None:
        """A batch of an older owner reaches the log after all, as if its producer were no longer fenced."""
        assert self.late_append is not None
        self.append(self.late_append.records)
        self.late_append = None

    def rebuild(self) -> None:
        refusal: ApiError = StateLogUnavailable("nobody knows")
        self.commit.fail(refusal)
        self.claim()

    # ------------------------------------------------ housekeeping

    @rule()
    def snapshot_what_is_cold(self) -> None:
        self.submit(ColdSnapshots(self.now_ms + 1))

    @rule()
    def note_the_recovery_point(self) -> None:
        self.recovery_point = self.commit.fold.recovery_point()

    @rule(first_offset_of_history=st.integers(0, 400))
    def prune(self, first_offset_of_history: int) -> None:
        offset = prune_before(
            recovery_point=self.recovery_point, first_offset_of_history=first_offset_of_history
        )
        self.log_start = max(self.log_start, offset)

    # ------------------------------------------------ what always holds

    @invariant()
    def the_log_says_what_the_owner_believes(self) -> None:
        """As far as the owner has read; what landed behind that is ignored or makes it look again."""
        fold = StateLogFold()
        for record in self.log[self.log_start : self.commit.fold.applied_offset + 1]:
            fold.apply(record)
        assert dict(fold.states) == dict(self.commit.fold.states)

    @invariant()
    def at_rest_the_durable_state_is_the_projection_of_the_live_one(self) -> None:
        if self.commit.waiting_count:
            return
        for key, live in self.live.items():
            assert projection_of_durable(self.commit.fold.states[key]) == projection_of_live(live.partition)


def offsets_done(state: DurableShareState) -> set[int]:
    return {
        offset
        for batch in state.state_batches
        if batch.state in TERMINAL_STATES
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }


def projection_of_durable(state: DurableShareState) -> tuple[int, Mapping[int, tuple[RecordState, int]]]:
    """The first offset not done with, and what is known of those from there on."""
    done = offsets_done(state)
    start_offset = max(state.start_offset, 0)
    while start_offset in done:
        start_offset += 1
    known = {
        offset: (batch.state, batch.delivery_count)
        for batch in state.state_batches
        for offset in range(max(batch.first_offset, start_offset), batch.last_offset + 1)
    }
    return start_offset, known


def projection_of_live(partition: SharePartition) -> tuple[int, Mapping[int, tuple[RecordState, int]]]:
    """The same of a live one: nothing is acquired, and an attempt in progress was not counted yet."""
    known: dict[int, tuple[RecordState, int]] = {}
    for run in partition.view().ranges:
        state, count = run.state, run.delivery_count
        if state is RecordState.ACQUIRED:
            state, count = RecordState.AVAILABLE, count - 1
        if state in TERMINAL_STATES or count:
            known |= dict.fromkeys(range(run.first_offset, run.last_offset + 1), (state, count))
    return partition.start_offset, known


TestStateLogCrashes = StateLogMachine.TestCase
TestStateLogCrashes.settings = settings(
    max_examples=max(settings().max_examples, 150), stateful_step_count=60
)
