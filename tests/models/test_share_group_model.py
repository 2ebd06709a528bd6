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
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroupState

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
                self.coordinator.leave(heartbeat)
            return
        assert self.coordinator.leave(heartbeat).member_epoch == -1
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
        for initialization in wanted:
            partition = TopicIdPartition(initialization.key.topic_id, initialization.key.partition)
            assert partition not in self.initialized
            self.initialized[partition] = initialization.state_epoch
        self.coordinator.initialized(GROUP, [initialization.key for initialization in wanted])
        return self.coordinator.answer(heartbeat, limits=LIMITS, now_ms=self.now_ms)

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
