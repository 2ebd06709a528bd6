"""Groups whose rounds are held in the smallest portions, with everything that members do in between.

Whatever came between two portions, a group that is left alone settles: each partition is with members that subscribe to
it, they have just what the target assignment gives them, and nobody waits for anything that is over.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kproxy.share import group_assignment, group_coordinator, share_group
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeldHeartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup

GROUP = GroupId("g")
LIMITS = GroupLimits(assignment_delay_ms=50, max_heartbeat_wait_ms=4_000, session_timeout_ms=1_000_000)
IDS = {name: TopicId(name.ljust(16).encode()) for name in ("paid", "sent", "late")}
MEMBERS = [MemberId(f"member-{number}") for number in range(5)]
SUBSCRIPTIONS = [("paid",), ("sent", "late"), ("paid", "sent"), ("paid", "sent", "late")]

a_member = st.sampled_from(MEMBERS)
a_subscription = st.sampled_from(SUBSCRIPTIONS)


@dataclass
class Waiting:
    """A heartbeat that is held."""

    heartbeat: Heartbeat
    since_ms: int
    until_ms: int


class RoundsInPortions(RuleBasedStateMachine):
    """One group, of whose rounds each call does the least that it can."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        for module in (group_assignment, group_coordinator, share_group):
            self.patch.setattr(module, "PLACES_AT_ONCE", 1)
        self.patch.setattr(group_coordinator, "PLACES_OF_ONE", 1)
        self.coordinator = GroupCoordinator()
        self.counts = {"paid": 3, "sent": 2, "late": 5}
        self.now_ms = 1_000
        self.waiting: dict[MemberId, Waiting] = {}
        self.epochs = (0, 0)

    def teardown(self) -> None:
        self.patch.undo()

    @property
    def group(self) -> ShareGroup | None:
        return self.coordinator.find(GROUP)

    @property
    def members(self) -> Mapping[MemberId, object]:
        return {} if self.group is None else self.group.members

    # ---- what members do

    @rule(member_id=a_member, names=a_subscription)
    def join(self, member_id: MemberId, names: tuple[str, ...]) -> None:
        self.say(Heartbeat(GROUP, member_id, 0, None, names, "client", "/127.0.0.1"))

    @rule(member_id=a_member, names=st.none() | a_subscription)
    def keep(self, member_id: MemberId, names: tuple[str, ...] | None) -> None:
        if self.group is not None and (member := self.group.members.get(member_id)) is not None:
            epoch = member.member_epoch
            if epoch == 0:  # it was put back before it was answered
                names = tuple(member.subscribed_topic_names)
            self.say(Heartbeat(GROUP, member_id, epoch, None, names, "client", "/127.0.0.1"))

    @rule(member_id=a_member)
    def leave(self, member_id: MemberId) -> None:
        if member_id in self.members:
            goodbye = Heartbeat(GROUP, member_id, -1, None, None, "client", "/127.0.0.1")
            self.coordinator.leave(goodbye, now_ms=self.now_ms)
            self.waiting.pop(member_id, None)
            self.answer_called()

    @rule(member_id=a_member)
    def lose(self, member_id: MemberId) -> None:
        self.coordinator.lose(GROUP, member_id, now_ms=self.now_ms)
        self.waiting.pop(member_id, None)
        self.answer_called()

    @precondition(lambda self: self.waiting)
    @rule(place=st.integers(0, 4))
    def hurry(self, place: int) -> None:
        """Whoever has sent something behind its heartbeat is answered at once."""
        member_id = sorted(self.waiting)[place % len(self.waiting)]
        assert self.ask(self.waiting.pop(member_id), is_hurried=True)

    # ---- what happens to them

    @rule(name=st.sampled_from(sorted(IDS)))
    def grow(self, name: str) -> None:
        self.counts[name] += 1
        self.coordinator.topics_moved()

    @rule(times=st.integers(1, 30))
    def go_on(self, times: int) -> None:
        for _ in range(times):
            self.coordinator.assign(self.now_ms, at_most=1)
            self.answer_called()

    @rule(milliseconds=st.sampled_from([10, 60, 1_000, 5_000]))
    def pass_time(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        for member_id, held in tuple(self.waiting.items()):
            if held.until_ms <= self.now_ms and member_id in self.waiting:
                self.ask(self.waiting.pop(member_id))

    @precondition(lambda self: self.group is not None)
    @rule()
    def restore(self) -> None:
        """The group is put back as it is in the log, and what was held of it is refused."""
        assert self.group is not None
        self.coordinator.restore(self.group.image(), limits=LIMITS, now_ms=self.now_ms)
        self.waiting.clear()

    @rule()
    def settle(self) -> None:
        """Leave the group alone: its members go on sending heartbeats, and time passes."""
        for _ in range(8):
            self.pass_time(5_000)
            self.finish_rounds()
            for member_id in tuple(self.members):
                if member_id not in self.waiting:
                    self.keep(member_id, None)
            self.finish_rounds()
        self.require_settled()

    # ---- what always holds

    @invariant()
    def epochs_only_rise(self) -> None:
        if self.group is not None:
            epochs = (self.group.group_epoch, self.group.assignment_epoch)
            assert epochs[0] >= self.epochs[0]
            assert epochs[1] >= self.epochs[1]
            assert epochs[0] >= epochs[1]
            self.epochs = epochs

    @invariant()
    def nobody_waits_for_more_than_the_next_round(self) -> None:
        """Or for the one after it, who came when one was under way."""
        if self.group is not None:
            rounds = self.group._assignment._rounds
            awaited = [member.awaited_round or 0 for member in self.group.members.values()]
            assert max(awaited, default=0) <= rounds.count + 1 + rounds.is_under_way

    # ---- how

    def say(self, heartbeat: Heartbeat) -> None:
        self.waiting.pop(heartbeat.member_id, None)
        topics = {name: TopicPartitions(IDS[name], self.counts[name]) for name in IDS}
        asked = {name: topics[name] for name in self.coordinator.topic_names(heartbeat)}
        begun = self.coordinator.admit(heartbeat, topics=asked, limits=LIMITS, now_ms=self.now_ms)
        self.coordinator.initialized(GROUP, [key for each in begun for key in each.share_partitions()])
        self.answer_called()
        self.ask(Waiting(heartbeat, self.now_ms, self.now_ms))

    def ask(self, held: Waiting, *, is_hurried: bool = False) -> bool:
        """Ask for the answer of a heartbeat; tell whether there is one."""
        heartbeat = held.heartbeat
        said = self.coordinator.answer(
            heartbeat, limits=LIMITS, now_ms=self.now_ms, since_ms=held.since_ms, is_hurried=is_hurried
        )
        if isinstance(said, HeldHeartbeat):
            assert said.until_ms > self.now_ms
            self.waiting[heartbeat.member_id] = Waiting(heartbeat, held.since_ms, said.until_ms)
        else:
            assert said.member_epoch > 0
        self.answer_called()
        return not isinstance(said, HeldHeartbeat)

    def answer_called(self) -> None:
        for _, member_id in self.coordinator.take_called():
            if member_id in self.waiting and member_id in self.members:
                self.ask(self.waiting.pop(member_id))

    def finish_rounds(self) -> None:
        for _ in range(10_000):
            due_ms = self.coordinator.next_deadline_ms()
            if due_ms is None or due_ms > self.now_ms:
                return
            self.coordinator.assign(self.now_ms, at_most=1)
            self.answer_called()
        raise AssertionError("rounds without end")

    def require_settled(self) -> None:
        if self.group is None or not self.group.members:
            return
        subscribed = {name for each in self.group.members.values() for name in each.subscribed_topic_names}
        wanted = {
            TopicIdPartition(IDS[name], number) for name in subscribed for number in range(self.counts[name])
        }
        targets = self.group.image().target
        told = set[TopicIdPartition]()
        for member_id, member in self.group.members.items():
            assert member.assigned == targets[member_id]
            assert {each.topic_id for each in member.assigned} <= {
                IDS[name] for name in member.subscribed_topic_names
            }
            told |= member.assigned
        assert told == wanted
        assert int(self.group.assignment_epoch) == self.group.group_epoch


TestRoundsInPortions = RoundsInPortions.TestCase
TestRoundsInPortions.settings = settings(stateful_step_count=40)
