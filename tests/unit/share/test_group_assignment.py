"""Rounds of a group: who is called, and how long a heartbeat may be held."""

import sys
from collections.abc import Collection

import pytest

from kproxy.share.group_assignment import GroupAssignment
from kproxy.share.group_topics import GroupTopics
from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata
from tests.worlds.share_builders import ALICE, BOB, TOPIC, LookedUpId

LIMITS = GroupLimits(assignment_delay_ms=50, max_heartbeat_wait_ms=15_000)
PAID = TopicPartitions(TOPIC, 2)


def hold_round(assignment: GroupAssignment, now_ms: int, *, computes: bool = True) -> None:
    """Hold a round as a whole."""
    assignment.begin_round(now_ms, computes=computes, on_computed=lambda: None)
    assignment.go_on(now_ms, at_most=sys.maxsize)


class Group:
    """Two partitions, and members that hold a heartbeat each."""

    def __init__(self) -> None:
        state = StatePartitionMetadata()
        state.begin("paid", PAID, retry_interval_ms=1, now_ms=0)
        state.finish([TopicIdPartition(TOPIC, 0), TopicIdPartition(TOPIC, 1)])
        topics = self.topics = GroupTopics(state)
        topics.subscribe(frozenset(), frozenset(["paid"]))
        topics.learn({"paid": PAID})
        self.members: dict[MemberId, ShareGroupMember] = {}
        self.assignment = GroupAssignment(topics, self.members)

    def join(self, member_id: MemberId, *, now_ms: int) -> ShareGroupMember:
        member = ShareGroupMember(member_id, subscribed_topic_names=frozenset(["paid"]), is_waiting=True)
        self.members[member_id] = member
        self.assignment.heard(member, LIMITS, is_joining=True, has_changed=True, now_ms=now_ms)
        return member

    def round(self, now_ms: int) -> tuple[MemberId, ...]:
        hold_round(self.assignment, now_ms)
        return self.assignment.take_called()

    def tell(self, *members: ShareGroupMember, now_ms: int) -> None:
        for member in members:
            self.assignment.tell(member, self.assignment.share_of(member), now_ms)


class LookedUpTopics(GroupTopics):
    """Counts how often the names of a subscription are gone through."""

    def __init__(self, state_partitions: StatePartitionMetadata) -> None:
        super().__init__(state_partitions)
        self.look_ups = 0

    def ids(self, names: Collection[str]) -> frozenset[TopicId]:
        self.look_ups += 1
        return super().ids(names)


def many_topics(count: int) -> LookedUpTopics:
    """Topics of one partition each, which may be assigned."""
    state = StatePartitionMetadata()
    found = {f"{number:04}": TopicPartitions(TopicId(f"{number:016}".encode()), 1) for number in range(count)}
    for name, topic in found.items():
        state.begin(name, topic, retry_interval_ms=1, now_ms=0)
        state.finish([TopicIdPartition(topic.topic_id, 0)])
    topics = LookedUpTopics(state)
    topics.subscribe(frozenset(), frozenset(found))
    topics.learn(found)
    return topics


def held_until_ms(
    group: Group, member: ShareGroupMember, since_ms: int, *, must_tell: bool, is_stale: bool
) -> int | None:
    """Until when a heartbeat of the member may be held."""
    share = group.assignment.share_of(member)
    return group.assignment.held_until_ms(
        member, since_ms, share=share, must_tell=must_tell, is_stale=is_stale
    )


def everything(topics: GroupTopics) -> frozenset[TopicIdPartition]:
    return frozenset(
        TopicIdPartition(topic_id, number)
        for topic_id, numbers in topics.assignable().items()
        for number in numbers
    )


@pytest.fixture
def group() -> Group:
    return Group()


def test_everybody_who_gets_something_is_called_once(group: Group) -> None:
    # Given
    group.join(ALICE, now_ms=0)
    group.join(BOB, now_ms=10)

    # When
    called = group.round(50)

    # Then
    assert called == (ALICE, BOB)
    assert group.assignment.take_called() == ()


def test_a_member_that_is_forgotten_while_it_waits_is_called(group: Group) -> None:
    # Given
    alice = group.join(ALICE, now_ms=0)

    # When
    group.assignment.remove(alice, 5)

    # Then
    assert group.assignment.take_called() == (ALICE,)


def test_a_heartbeat_with_nothing_to_tell_is_held_until_shortly_before_the_next_one(group: Group) -> None:
    # Given
    alice = group.join(ALICE, now_ms=0)
    group.round(50)
    group.tell(alice, now_ms=50)

    # Then
    assert held_until_ms(group, alice, 60, must_tell=False, is_stale=False) == 4_960
    assert held_until_ms(group, alice, 60, must_tell=True, is_stale=False) is None


def test_a_join_is_held_until_its_round(group: Group) -> None:
    # Given
    alice = group.join(ALICE, now_ms=3)
    group.assignment.await_round(alice, 3)

    # When
    before = held_until_ms(group, alice, 0, must_tell=True, is_stale=True)
    group.round(53)

    # Then
    assert before == 53
    assert held_until_ms(group, alice, 0, must_tell=True, is_stale=False) is None


def test_who_joins_during_a_round_that_is_given_up_is_called_by_the_next_one(group: Group) -> None:
    # Given
    group.join(ALICE, now_ms=0)
    group.assignment.begin_round(50, computes=True, on_computed=lambda: None)
    bob = group.join(BOB, now_ms=50)
    bob.subscribed_topic_names = frozenset(["none such"])
    group.assignment.await_round(bob, now_ms=50)
    group.assignment.give_up_round()

    # When
    called = group.round(50)

    # Then
    assert BOB in called, "although there is nothing for him"


def test_a_join_that_would_get_nothing_yet_is_held_until_the_assignment_interval_is_over(
    group: Group,
) -> None:
    # Given
    alice = group.join(ALICE, now_ms=0)
    group.round(50)
    group.tell(alice, now_ms=50)
    bob = group.join(BOB, now_ms=60)
    group.assignment.await_round(bob, 60)

    # When
    hold_round(group.assignment, 110, computes=False)

    # Then
    assert not group.assignment.may_compute(110)
    assert held_until_ms(group, bob, 60, must_tell=True, is_stale=True) == 1_050


def test_whoever_joins_again_with_nothing_waits_for_a_round_and_not_for_the_assignment_interval(
    group: Group,
) -> None:
    # Given
    alice = group.join(ALICE, now_ms=0)
    group.round(50)
    group.tell(alice, now_ms=50)
    bob = group.join(BOB, now_ms=60)
    hold_round(group.assignment, 110, computes=False)
    group.assignment.tell(bob, frozenset(), 120)

    # When
    group.assignment.heard(bob, LIMITS, is_joining=True, has_changed=False, now_ms=200)
    group.assignment.await_round(bob, 200)

    # Then
    assert held_until_ms(group, bob, 200, must_tell=True, is_stale=True) == 250


def test_restored_members_are_counted_on_for_one_heartbeat_interval(group: Group) -> None:
    # Given
    alice, bob = ShareGroupMember(ALICE), ShareGroupMember(BOB)
    for member, number in ((alice, 0), (bob, 1)):
        member.subscribed_topic_names = frozenset(["paid"])
        member.assigned = frozenset([TopicIdPartition(TOPIC, number)])
        group.members[member.member_id] = member
    group.assignment.restore({ALICE: alice.assigned, BOB: bob.assigned}, LIMITS, now_ms=100)
    bob.is_waiting = True
    group.assignment.heard(bob, LIMITS, is_joining=False, has_changed=False, now_ms=200)

    # When
    due_ms = group.assignment.next_round_ms(is_stale=False)
    called = group.round(5_100)

    # Then
    assert due_ms == 5_100
    assert called == (BOB,)
    assert group.assignment.share_of(bob) == alice.assigned | bob.assigned


def test_what_a_restored_group_may_assign_is_compared_once_with_what_it_was_assigned_from(
    group: Group,
) -> None:
    # Given
    member_id, topics = group.join(ALICE, now_ms=0).member_id, group.topics
    group.assignment.restore({member_id: everything(topics)}, LIMITS, now_ms=0)

    # When
    is_outdated = group.assignment.is_outdated()

    # Then
    assert not is_outdated
    assert group.assignment.assigned_from is topics.assignable()


def test_a_subscription_is_gone_through_as_often_however_many_topics_change_hands() -> None:
    # Given
    look_ups = []
    for topic_count in (4, 40):
        topics = many_topics(topic_count)
        members = {
            member_id: ShareGroupMember(
                member_id, subscribed_topic_names=frozenset(topics.known), is_waiting=True
            )
            for member_id in (ALICE, BOB)
        }
        alice, bob = members.values()
        assignment = GroupAssignment(topics, members)
        for member in (alice, bob):
            assignment.heard(member, LIMITS, is_joining=True, has_changed=True, now_ms=0)
        assignment.tell(alice, everything(topics), 10)
        topics.look_ups = 0

        # When
        hold_round(assignment, 50)
        assignment.lose(alice, 60)
        hold_round(assignment, 110, computes=False)
        assert len(assignment.share_of(bob)) == topic_count
        look_ups.append(topics.look_ups)

    # Then
    assert look_ups[0] == look_ups[1]


def one_wide_and_many_narrow(topic_count: int, member_count: int) -> tuple[GroupAssignment, ShareGroupMember]:
    """A group in which one member names all topics, and others, that wait, one each; and the wide one."""
    state = StatePartitionMetadata()
    found = {
        f"{number:04}": TopicPartitions(TopicId(LookedUpId(f"{number:016}".encode())), 1)
        for number in range(topic_count)
    }
    for name, topic in found.items():
        state.begin(name, topic, retry_interval_ms=1, now_ms=0)
        state.finish([TopicIdPartition(topic.topic_id, 0)])
    topics = GroupTopics(state)
    members: dict[MemberId, ShareGroupMember] = {}
    assignment = GroupAssignment(topics, members)
    names = sorted(found)
    for number in range(member_count):
        subscribed = frozenset(names if number == 0 else names[number : number + 1])
        member = ShareGroupMember(
            MemberId(str(number)), subscribed_topic_names=subscribed, is_waiting=number > 0
        )
        members[member.member_id] = member
        topics.subscribe(frozenset(), subscribed)
        assignment.heard(member, LIMITS, is_joining=True, has_changed=True, now_ms=0)
    topics.learn(found)
    return assignment, members[MemberId("0")]


def test_a_round_goes_through_the_topics_of_different_subscriptions_not_of_members() -> None:
    # Given
    assignment, _ = one_wide_and_many_narrow(500, 100)
    LookedUpId.look_ups = 0

    # When
    hold_round(assignment, 50)

    # Then
    assert len(assignment.target[MemberId("0")]) == 500
    assert LookedUpId.look_ups < 30 * 500


def test_what_is_open_is_not_gone_through_for_a_member_with_few_topics() -> None:
    # Given
    assignment, wide = one_wide_and_many_narrow(500, 100)
    hold_round(assignment, 50)
    narrow = ShareGroupMember(MemberId("new"), subscribed_topic_names=frozenset(["0499"]))
    LookedUpId.look_ups = 0

    # When
    share = assignment.share_of(narrow)

    # Then
    assert [partition.topic_id for partition in share] == [f"{499:016}".encode()]
    assert LookedUpId.look_ups < 50
    assert len(assignment.share_of(wide)) == 500


def a_wide_lone_member(partition_count: int) -> tuple[GroupAssignment, ShareGroupMember]:
    """Whose heartbeat waits for the round that is for it, and is the first of the group."""
    topic = TopicPartitions(TopicId(LookedUpId(b"a topic as wide ")), partition_count)
    state = StatePartitionMetadata()
    state.begin("wide", topic, retry_interval_ms=1, now_ms=0)
    state.finish([TopicIdPartition(topic.topic_id, number) for number in range(partition_count)])
    topics = GroupTopics(state)
    names = frozenset(["wide"])
    topics.subscribe(frozenset(), names)
    topics.learn({"wide": topic})
    member = ShareGroupMember(ALICE, subscribed_topic_names=names, is_waiting=True)
    assignment = GroupAssignment(topics, {ALICE: member})
    assignment.heard(member, LIMITS, is_joining=True, has_changed=True, now_ms=0)
    computed: list[None] = []
    assignment.begin_round(50, computes=True, on_computed=lambda: computed.append(None))
    while not computed:
        assignment.go_on(50, at_most=1)
    return assignment, member


def test_a_round_in_which_everybody_waits_for_a_new_target_looks_for_no_partition_that_nobody_has() -> None:
    # Given
    assignment, member = a_wide_lone_member(500)
    LookedUpId.look_ups = 0

    # When
    assignment.go_on(50, at_most=sys.maxsize)
    look_ups = LookedUpId.look_ups

    # Then
    assert assignment.take_called() == (ALICE,)
    assert len(assignment.share_of(member)) == 500
    assert look_ups < 50


def test_the_first_who_is_told_partitions_costs_no_look_up_of_each() -> None:
    # Given
    assignment, member = a_wide_lone_member(500)
    assignment.go_on(50, at_most=sys.maxsize)
    share = assignment.share_of(member)
    LookedUpId.look_ups = 0

    # When
    assignment.tell(member, share, 60)

    # Then
    assert LookedUpId.look_ups < 50
    assert member.relied_on == share


def test_what_a_member_that_left_was_to_have_is_shared_before_the_next_target_is_computed(
    group: Group,
) -> None:
    # Given
    alice, bob = group.join(ALICE, now_ms=0), group.join(BOB, now_ms=0)
    group.round(50)
    group.tell(alice, bob, now_ms=50)
    del group.members[BOB]
    group.assignment.remove(bob, 60)

    # When
    hold_round(group.assignment, 110, computes=False)

    # Then
    assert group.assignment.take_called() == (BOB, ALICE)
    assert group.assignment.share_of(alice) == alice.assigned | bob.assigned
