"""`GroupCoordinator` against a list of members: epochs only rise, the assignment is complete and balanced."""

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kproxy.errors import (
    ApiError,
    FencedMemberEpoch,
    GroupIdNotFound,
    GroupMaxSizeReached,
    InvalidRequest,
    UnknownMemberId,
)
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, HeldHeartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_image import ShareGroupState
from tests.worlds.share_builders import keys_of

GROUP = GroupId("orders")
MEMBERS = [MemberId(name) for name in ("alice", "bob", "carol", "dave")]
LIMITS = GroupLimits(session_timeout_ms=100, max_size=3, assignment_interval_ms=0)
NAMES = ["paid", "sent", "lost"]


@dataclass
class NaiveMember:
    """What a member knows of itself."""

    member_id: MemberId
    names: frozenset[str]
    epoch: int
    previous_epoch: int
    deadline_ms: int
    assigned: set[TopicIdPartition] = field(default_factory=set)


class ShareGroupMachine(RuleBasedStateMachine):
    """Members come, go and fall silent, topics grow; every heartbeat initializes what it is asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.coordinator = GroupCoordinator()
        self.now_ms = 0
        self.members: list[NaiveMember] = []
        self.is_made = False
        self.topics: dict[str, TopicPartitions] = {}
        self.initialized: dict[TopicIdPartition, int] = {}
        self.epochs = (0, 0)

    def naive(self, member_id: MemberId) -> NaiveMember | None:
        return next((member for member in self.members if member.member_id == member_id), None)

    @rule(name=st.sampled_from(NAMES), added=st.integers(1, 3))
    def grow_topic(self, name: str, added: int) -> None:
        before = self.topics.get(name)
        topic_id = TopicId(name.encode().ljust(16)) if before is None else before.topic_id
        count = added + (0 if before is None else before.partition_count)
        self.topics[name] = TopicPartitions(topic_id, min(count, 7))
        self.coordinator.topics_moved()

    @rule(duration_ms=st.integers(1, 60))
    def let_time_pass(self, duration_ms: int) -> None:
        self.now_ms += duration_ms

    @rule()
    def expire_sessions(self) -> None:
        silent = {member.member_id for member in self.members if member.deadline_ms <= self.now_ms}
        expired = self.coordinator.expire_sessions(self.now_ms)
        assert sorted(e.member_id for e in expired) == sorted(silent)
        self.members = [member for member in self.members if member.member_id not in silent]

    @rule(member_id=st.sampled_from(MEMBERS), names=st.sets(st.sampled_from(NAMES)).map(frozenset))
    def join(self, member_id: MemberId, names: frozenset[str]) -> None:
        self.heartbeat(member_id, 0, names)

    @rule(
        member_id=st.sampled_from(MEMBERS),
        epoch_from=st.sampled_from(["current", "current", "current", "previous", "unknown"]),
        names=st.none() | st.sets(st.sampled_from(NAMES)).map(frozenset),
    )
    def stay(self, member_id: MemberId, epoch_from: str, names: frozenset[str] | None) -> None:
        naive = self.naive(member_id)
        epoch = 99 if naive is None or epoch_from == "unknown" else naive.epoch
        if naive is not None and epoch_from == "previous" and naive.previous_epoch > 0:
            epoch = naive.previous_epoch
        self.heartbeat(member_id, epoch, names)

    @rule(member_id=st.sampled_from(MEMBERS))
    def leave(self, member_id: MemberId) -> None:
        naive = self.naive(member_id)
        heartbeat = self.said_by(member_id, -1, None)
        if naive is None:
            with pytest.raises(UnknownMemberId if self.is_made else GroupIdNotFound):
                self.coordinator.leave(heartbeat, now_ms=self.now_ms)
            return
        assert self.coordinator.leave(heartbeat, now_ms=self.now_ms).member_epoch == -1
        self.members.remove(naive)

    def said_by(self, member_id: MemberId, epoch: int, names: frozenset[str] | None) -> Heartbeat:
        topic_names = None if names is None else tuple(sorted(names))
        return Heartbeat(GROUP, member_id, epoch, None, topic_names, "client", "/127.0.0.1")

    def heartbeat(self, member_id: MemberId, epoch: int, names: frozenset[str] | None) -> None:
        refusal = self.refusal_of(member_id, epoch, names)
        if refusal is not None:
            before = self.coordinator.describe(GROUP) if self.is_made else None
            with pytest.raises(refusal):
                self.serve(self.said_by(member_id, epoch, names))
            assert before == (self.coordinator.describe(GROUP) if self.is_made else None)
            return
        answer = self.serve(self.said_by(member_id, epoch, names))
        self.is_made = True
        self.note(member_id, names, answer)

    def refusal_of(
        self, member_id: MemberId, epoch: int, names: frozenset[str] | None
    ) -> type[ApiError] | None:
        naive = self.naive(member_id)
        if epoch == 0 and not names:
            return InvalidRequest
        if not self.is_made and epoch != 0:
            return GroupIdNotFound
        if naive is None and len(self.members) >= LIMITS.max_size:
            return GroupMaxSizeReached
        if naive is None:
            return None if epoch == 0 else UnknownMemberId
        return None if epoch in (0, naive.epoch, naive.previous_epoch) else FencedMemberEpoch

    def serve(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        names = self.coordinator.topic_names(heartbeat)
        topics = {name: self.topics.get(name) for name in names}
        wanted = self.coordinator.admit(heartbeat, topics=topics, limits=LIMITS, now_ms=self.now_ms)
        for initialization in (each for topic in wanted for each in topic.initializations()):
            partition = TopicIdPartition(initialization.key.topic_id, initialization.key.partition)
            assert partition not in self.initialized
            self.initialized[partition] = initialization.state_epoch
        self.coordinator.initialized(GROUP, keys_of(wanted))
        answer = self.coordinator.answer(heartbeat, limits=LIMITS, now_ms=self.now_ms)
        assert isinstance(answer, HeartbeatAnswer)
        return answer

    def note(self, member_id: MemberId, names: frozenset[str] | None, answer: HeartbeatAnswer) -> None:
        naive = self.naive(member_id)
        if naive is None:
            naive = NaiveMember(member_id, frozenset(), 0, -1, 0)
            self.members.append(naive)
        if names is not None:
            naive.names = names
            assert answer.assignment is not None
        if naive.epoch != answer.member_epoch:
            assert answer.member_epoch > naive.epoch
            naive.previous_epoch, naive.epoch = naive.epoch, answer.member_epoch
        naive.deadline_ms = self.now_ms + LIMITS.session_timeout_ms
        if answer.assignment is not None:
            naive.assigned = {
                TopicIdPartition(topic.topic_id, number)
                for topic in answer.assignment
                for number in topic.partitions
            }

    def subscribed(self, names: frozenset[str]) -> set[TopicIdPartition]:
        return {
            TopicIdPartition(topic.topic_id, number)
            for name, topic in self.topics.items()
            for number in range(topic.partition_count)
            if name in names
        }

    @rule()
    def everybody_is_heard(self) -> None:
        """After two rounds of heartbeats every partition is with somebody, and everybody has a fair share."""
        for member in [*self.members, *self.members]:
            self.heartbeat(member.member_id, member.epoch, None)
        wanted = frozenset[str]().union(*(member.names for member in self.members))
        assert set().union(*(member.assigned for member in self.members)) == self.subscribed(wanted)
        for member in self.members:
            assert member.assigned <= self.subscribed(member.names)
        if len({member.names for member in self.members}) == 1:
            sizes = [len(member.assigned) for member in self.members]
            assert max(sizes) - min(sizes) <= 1

    @invariant()
    def both_know_the_same_members(self) -> None:
        if not self.is_made:
            assert self.coordinator.group_ids == ()
            return
        view = self.coordinator.describe(GROUP)
        assert [(m.member_id, m.member_epoch, frozenset(m.subscribed_topic_names)) for m in view.members] == [
            (naive.member_id, naive.epoch, naive.names) for naive in self.members
        ]
        assert view.state is (ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY)

    @invariant()
    def epochs_only_rise(self) -> None:
        if self.is_made:
            view = self.coordinator.describe(GROUP)
            assert (view.group_epoch, view.assignment_epoch) >= self.epochs
            assert view.assignment_epoch >= self.epochs[1]
            assert view.assignment_epoch <= view.group_epoch
            self.epochs = (view.group_epoch, view.assignment_epoch)

    @invariant()
    def no_session_is_forgotten(self) -> None:
        deadline_ms = self.coordinator.next_deadline_ms()
        for member in self.members:
            assert deadline_ms is not None
            assert deadline_ms <= member.deadline_ms


TestShareGroup = ShareGroupMachine.TestCase


DELAY_MS = 50
HELD = GroupLimits(
    session_timeout_ms=45_000, assignment_delay_ms=DELAY_MS, max_heartbeat_wait_ms=5_000, max_size=4
)


@dataclass
class LiveMember:
    """A client whose next heartbeat follows every answer at once, so that one of it is always held."""

    names: frozenset[str]
    epoch: int = 0
    assigned: frozenset[TopicIdPartition] = frozenset()
    held: Heartbeat | None = None
    since_ms: int = 0
    until_ms: int = 0


class CoverageMachine(RuleBasedStateMachine):
    """Members join, leave, subscribe anew, die and come back: no partition is without a member for long.

    Time moves by whole rounds of the coordinator, and those whom it calls are answered at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.coordinator = GroupCoordinator()
        self.now_ms = 0
        self.topics = {
            "paid": TopicPartitions(TopicId(b"paid".ljust(16)), 5),
            "sent": TopicPartitions(TopicId(b"sent".ljust(16)), 2),
        }
        self.live: dict[MemberId, LiveMember] = {}
        self.dead: dict[MemberId, LiveMember] = {}
        self.uncovered_since: dict[TopicIdPartition, int] = {}

    @rule(member_id=st.sampled_from(MEMBERS), names=st.sampled_from([("paid",), ("sent",), ("paid", "sent")]))
    def join_or_subscribe_anew(self, member_id: MemberId, names: tuple[str, ...]) -> None:
        self.dead.pop(member_id, None)
        member = self.live.setdefault(member_id, LiveMember(frozenset(names)))
        member.names = frozenset(names)
        self.answer_held(member, is_hurried=True)
        self.say(member_id, member, 0 if member.epoch == 0 else member.epoch, names)

    @rule(member_id=st.sampled_from(MEMBERS))
    def leave(self, member_id: MemberId) -> None:
        member = self.live.pop(member_id, None)
        if member is not None:
            self.answer_held(member, is_hurried=True)
            self.coordinator.leave(self.said_by(member_id, -1, None), now_ms=self.now_ms)
            self.answer_called()

    @rule(member_id=st.sampled_from(MEMBERS))
    def die(self, member_id: MemberId) -> None:
        member = self.live.pop(member_id, None)
        if member is not None:
            member.held = None
            self.dead[member_id] = member
        self.coordinator.lose(GROUP, member_id, now_ms=self.now_ms)

    @rule(member_id=st.sampled_from(MEMBERS))
    def come_back(self, member_id: MemberId) -> None:
        if member_id in self.dead and self.dead[member_id].epoch:
            member = self.dead.pop(member_id)
            self.live[member_id] = member
            self.say(member_id, member, member.epoch, None)

    @rule(duration_ms=st.sampled_from([1, 20, 60, 300, 1_500]))
    def let_time_pass(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            deadline_ms = self.coordinator.next_deadline_ms()
            deadlines_ms = [member.until_ms for member in self.live.values()]
            deadlines_ms += [] if deadline_ms is None else [deadline_ms]
            self.now_ms = min(end_ms, max(min(deadlines_ms, default=end_ms), self.now_ms + 1))
            for expired in self.coordinator.expire_sessions(self.now_ms):
                self.dead.pop(expired.member_id, None)
            self.coordinator.assign(self.now_ms)
            self.answer_called()
            for member in list(self.live.values()):
                if member.until_ms <= self.now_ms:
                    self.answer_held(member)
            self.look()

    def said_by(self, member_id: MemberId, epoch: int, names: tuple[str, ...] | None) -> Heartbeat:
        return Heartbeat(GROUP, member_id, epoch, None, names, "client", "/127.0.0.1")

    def say(self, member_id: MemberId, member: LiveMember, epoch: int, names: tuple[str, ...] | None) -> None:
        heartbeat = self.said_by(member_id, epoch, names)
        asked = {name: self.topics.get(name) for name in self.coordinator.topic_names(heartbeat)}
        wanted = self.coordinator.admit(heartbeat, topics=asked, limits=HELD, now_ms=self.now_ms)
        self.coordinator.initialized(GROUP, keys_of(wanted))
        member.held, member.since_ms = heartbeat, self.now_ms
        self.answer_held(member)
        self.look()

    def answer_held(self, member: LiveMember, *, is_hurried: bool = False) -> None:
        """Answer what is held if there is something to tell; then the member's next heartbeat is held."""
        if member.held is None:
            return
        said = self.coordinator.answer(
            member.held, limits=HELD, now_ms=self.now_ms, since_ms=member.since_ms, is_hurried=is_hurried
        )
        if isinstance(said, HeldHeartbeat):
            assert self.now_ms < said.until_ms <= member.since_ms + HELD.heartbeat_wait_ms
            member.until_ms = said.until_ms
        else:
            self.note(member, said)
        self.answer_called()

    def note(self, member: LiveMember, said: HeartbeatAnswer) -> None:
        assert said.member_epoch >= max(member.epoch, 1)
        member.epoch = said.member_epoch
        if said.assignment is not None:
            member.assigned = frozenset(
                TopicIdPartition(topic.topic_id, number)
                for topic in said.assignment
                for number in topic.partitions
            )
        member.held = None
        self.say(said.member_id, member, member.epoch, None)

    def answer_called(self) -> None:
        for _, member_id in self.coordinator.take_called():
            if member_id in self.live:
                self.answer_held(self.live[member_id])

    def look(self) -> None:
        """Note since when each partition that a live member subscribes to is with no live member."""
        wanted = {
            TopicIdPartition(self.topics[name].topic_id, number)
            for member in self.live.values()
            for name in member.names
            for number in range(self.topics[name].partition_count)
        }
        told = frozenset[TopicIdPartition]().union(*(member.assigned for member in self.live.values()))
        self.uncovered_since = {
            partition: self.uncovered_since.get(partition, self.now_ms) for partition in wanted - told
        }

    @invariant()
    def no_partition_is_without_a_live_member_for_longer_than_the_delay(self) -> None:
        for partition, since_ms in self.uncovered_since.items():
            assert self.now_ms - since_ms <= DELAY_MS, (partition, since_ms, self.now_ms)

    @rule()
    def everybody_has_a_fair_share_when_nothing_happened_for_a_while(self) -> None:
        self.let_time_pass(3_000)
        if self.dead or len({member.names for member in self.live.values()}) != 1:
            return
        sizes = [len(member.assigned) for member in self.live.values()]
        assert max(sizes) - min(sizes) <= 1


TestCoverage = CoverageMachine.TestCase
