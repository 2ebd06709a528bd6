"""Share groups that are killed and restored at any moment: their members notice nothing.

Members join, stay, leave and fall silent; topics come, grow and go; initializations fail, writes of groups fail
(landed or not), and the process is restarted from the records of its log. Whoever was answered goes on with the
epoch that it was told. A member whose answer was lost may have to join again, as with any lost answer.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import GroupId, MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.views.group_views import ShareGroupView
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from tests.worlds.share_group_world import ShareGroupWorld

GROUP = GroupId("g")
NAMES = ["paid", "sent"]
MEMBERS = [MemberId(name) for name in ("alice", "bob", "carol")]
SESSION_MS = 10_000
LIMITS = ShareGroupLimits(group=GroupLimits(session_timeout_ms=SESSION_MS, assignment_interval_ms=0))
REJOIN = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}

T = TypeVar("T")


def result_of(coroutine: Coroutine[object, object, T]) -> T:
    """Run to the end what never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waited")


@dataclass
class KnownMember:
    """What a member was told, and when it is taken for silent. Doubtful: its last answer was lost."""

    epoch: int
    deadline_ms: int
    assigned: set[TopicIdPartition] = field(default_factory=set)
    is_doubtful: bool = False


class ShareGroupRestartMachine(RuleBasedStateMachine):
    """The members' side of one group, on a process that is restarted now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ShareGroupWorld(limits=LIMITS)
        self.members: dict[MemberId, KnownMember] = {}
        self.partition_counts: dict[str, int] = {}
        self.generations = dict.fromkeys(NAMES, 0)
        self.durable_epochs = (0, 0)

    # ---- the cluster

    @rule(name=st.sampled_from(NAMES), added=st.integers(1, 2))
    def grow_topic(self, name: str, added: int) -> None:
        count = min(self.partition_counts.get(name, 0) + added, 5)
        self.partition_counts[name] = count
        self.world.metadata.create_topic(name, self.topic_id(name), partition_count=count)

    @rule(name=st.sampled_from(NAMES))
    def delete_topic(self, name: str) -> None:
        if self.partition_counts.pop(name, None) is not None:
            self.world.metadata.delete_topic(self.topic_id(name))
            self.generations[name] += 1

    def topic_id(self, name: str) -> TopicId:
        return TopicId(f"{name}{self.generations[name]}".encode().ljust(16))

    @rule()
    def tend_topics(self) -> None:
        result_of(self.world.groups.tend_topics())

    @rule(is_away=st.booleans())
    def break_or_mend_the_state_log(self, is_away: bool) -> None:  # noqa: FBT001  # hypothesis names it
        self.world.state_log.is_away = is_away

    # ---- time

    @rule(seconds=st.sampled_from([1, 4, 30, 70]))
    def let_time_pass(self, seconds: int) -> None:
        self.world.clock.advance(seconds * 1_000)

    @rule()
    def expire_sessions(self) -> None:
        now_ms = self.world.clock.now_ms()
        result_of(self.world.groups.expire(now_ms))
        self.members = {name: known for name, known in self.members.items() if known.deadline_ms > now_ms}

    # ---- the process

    @rule()
    def restart(self) -> None:
        self.restore(self.world.restart)

    @rule()
    def restart_of_a_settled_group_changes_nothing(self) -> None:
        self.world.state_log.is_away = False
        self.world.clock.advance(1)
        for name in [*self.members, *self.members, *self.members]:
            self.stay(name, None)
        before = self.view()
        image = self.world.group_log.replayed().durable_images().get(GROUP)
        if image is not None and (image.initializing or image.members.keys() - self.members.keys()):
            return  # a topic went before its state came, or a member that was not told that it joined is silent
        self.restart()
        for name in list(self.members):
            answer = self.heartbeat(name, self.members[name].epoch, None)
            assert answer.assignment is None
        assert self.view() == before

    def restore(self, restore_groups: Callable[[], None]) -> None:
        """Go on when all groups are there: after very many of them in one turn they are restored bit by bit."""

        async def until_restored() -> None:
            restore_groups()
            while len(asyncio.all_tasks()) > 1:  # noqa: ASYNC110 - nothing tells when the last one has ended
                await asyncio.sleep(0)

        asyncio.run(until_restored())
        for known in self.members.values():
            known.deadline_ms = self.world.clock.now_ms() + SESSION_MS

    # ---- the members

    @rule(name=st.sampled_from(MEMBERS), topics=st.sets(st.sampled_from(NAMES), min_size=1))
    def join(self, name: MemberId, topics: set[str]) -> None:
        answer = self.heartbeat(name, 0, topics)
        assert answer.error_code == ErrorCode.NONE
        self.note(name, answer)

    @rule(name=st.sampled_from(MEMBERS), topics=st.none() | st.sets(st.sampled_from(NAMES)))
    def stay(self, name: MemberId, topics: set[str] | None) -> None:
        known = self.members.get(name)
        if known is None:
            return
        answer = self.heartbeat(name, known.epoch, topics)
        if known.is_doubtful and answer.error_code in REJOIN:
            del self.members[name]
            return
        assert answer.error_code == ErrorCode.NONE, answer.error_message
        self.note(name, answer)

    @rule(name=st.sampled_from(MEMBERS))
    def leave(self, name: MemberId) -> None:
        known = self.members.pop(name, None)
        if known is None:
            return
        answer = self.heartbeat(name, -1, None)
        assert answer.error_code == ErrorCode.NONE or (known.is_doubtful and answer.error_code in REJOIN)

    @rule(
        name=st.sampled_from(MEMBERS),
        epoch_of=st.sampled_from(["join", "stay", "leave"]),
        does_land=st.booleans(),
    )
    def fail_to_write(self, name: MemberId, epoch_of: str, does_land: bool) -> None:  # noqa: FBT001  # as above
        """The group log fails during one heartbeat; then the shell restores what is durable."""
        known = self.members.get(name)
        if known is None and epoch_of != "join":
            return
        epoch = {"join": 0, "leave": -1, "stay": 0 if known is None else known.epoch}[epoch_of]
        log = self.world.group_log
        log.persist_failure, log.does_land = StateLogUnavailable("who knows"), does_land
        answer = self.heartbeat(name, epoch, {NAMES[0]} if epoch_of == "join" else None)
        log.persist_failure, log.does_land = None, False
        self.restore(self.world.restore_groups)
        if answer.error_code == ErrorCode.NONE:
            self.note(name, answer)
        elif known is not None:
            known.is_doubtful = True

    def heartbeat(self, name: MemberId, epoch: int, topics: set[str] | None) -> ShareGroupHeartbeatResponse:
        member = self.world.member(name)
        return result_of(member.heartbeat(epoch, None if topics is None else sorted(topics)))

    def note(self, name: MemberId, answer: ShareGroupHeartbeatResponse) -> None:
        before = self.members.get(name)
        known = KnownMember(answer.member_epoch, self.world.clock.now_ms() + SESSION_MS)
        if before is not None and not before.is_doubtful:
            assert answer.member_epoch >= before.epoch
        if before is not None:
            known.assigned, known.is_doubtful = before.assigned, before.is_doubtful
        if answer.assignment is not None:
            known.is_doubtful = False
            known.assigned = {
                TopicIdPartition(TopicId(topic.topic_id), partition)
                for topic in answer.assignment.topic_partitions
                for partition in topic.partitions
            }
        self.members[name] = known

    # ---- what always holds

    def view(self) -> ShareGroupView | None:
        if GROUP not in self.world.groups.coordinator.group_ids:
            return None
        return self.world.groups.coordinator.describe(GROUP)

    @invariant()
    def durable_epochs_only_rise(self) -> None:
        image = self.world.group_log.replayed().durable_images().get(GROUP)
        epochs = (0, 0) if image is None else (image.group_epoch, image.assignment_epoch)
        assert epochs[0] >= self.durable_epochs[0]
        assert epochs[1] >= self.durable_epochs[1]
        self.durable_epochs = epochs

    @invariant()
    def what_members_were_told_is_durable(self) -> None:
        image = self.world.group_log.replayed().durable_images().get(GROUP)
        for name, known in self.members.items():
            if known.is_doubtful or known.deadline_ms <= self.world.clock.now_ms():
                continue
            assert image is not None
            member = image.members[name]
            assert (member.member_epoch, set(member.assigned)) == (known.epoch, known.assigned)

    @invariant()
    def only_what_has_state_is_assigned(self) -> None:
        image = self.world.group_log.replayed().durable_images().get(GROUP)
        if image is None:
            return
        for topic_id, topic in image.initialized.items():
            for partition in topic.partitions:
                key = self.world.key(topic_id=topic_id, partition=partition)
                assert self.world.state_log.state(key) is not None

    @invariant()
    def nothing_faults(self) -> None:
        assert self.world.faults == []


TestShareGroupRestart = ShareGroupRestartMachine.TestCase
