"""Rounds of groups with very many places: how much of them one call does, and what members have meanwhile."""

from collections.abc import Sequence

import pytest

from kproxy.share import group_assignment, group_coordinator, share_group
from kproxy.share.assignor import assign
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, HeldHeartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId
from kproxy.share.limits import GroupLimits
from kproxy.share.rounds.portions import PLACES_AT_ONCE
from kproxy.share.share_group import ShareGroup
from tests.worlds.share_builders import LookedUpId

GROUP = GroupId("g")
LIMITS = GroupLimits(assignment_delay_ms=50, max_heartbeat_wait_ms=15_000)
TOPICS = {
    f"{number:04}": TopicPartitions(TopicId(LookedUpId(f"{number:016}".encode())), 2)
    for number in range(1_000)
}
NAMES = tuple(TOPICS)


def names_of(number: int) -> tuple[str, ...]:
    """Each of ten subscriptions lacks topics of its own, so that every topic has other subscribers."""
    return tuple(name for place, name in enumerate(NAMES) if (place >> number % 10) % 2 or place % 7 == 0)


class LargeGroup:
    """A hundred members whose heartbeats wait."""

    def __init__(self, member_count: int = 100) -> None:
        self.coordinator = GroupCoordinator()
        for number in range(member_count):
            assert isinstance(self.say(number, names=names_of(number), now_ms=0), HeldHeartbeat)

    @property
    def group(self) -> ShareGroup:
        group = self.coordinator.find(GROUP)
        assert group is not None
        return group

    def say(
        self,
        number: int,
        *,
        now_ms: int,
        epoch: int = 0,
        names: tuple[str, ...] | None = None,
        is_hurried: bool = False,
    ) -> HeartbeatAnswer | HeldHeartbeat:
        heartbeat = Heartbeat(GROUP, MemberId(f"{number:03}"), epoch, None, names, "c", "/h")
        topics = {name: TOPICS[name] for name in names or ()}
        begun = self.coordinator.admit(heartbeat, topics=topics, limits=LIMITS, now_ms=now_ms)
        self.coordinator.initialized(GROUP, [key for each in begun for key in each.share_partitions()])
        return self.coordinator.answer(
            heartbeat, limits=LIMITS, now_ms=now_ms, since_ms=now_ms, is_hurried=is_hurried
        )

    def go_on(self, now_ms: int) -> int:
        """Go on once; return how often ids were looked at."""
        LookedUpId.look_ups = 0
        self.coordinator.assign(now_ms, at_most=1)
        return LookedUpId.look_ups

    def hold_rounds(self, now_ms: int) -> Sequence[int]:
        """Hold all rounds that are due; return what each call looked at."""
        looks = []
        while (due_ms := self.coordinator.next_deadline_ms()) is not None and due_ms <= now_ms:
            looks.append(self.go_on(now_ms))
        return looks

    def answer_called(self, now_ms: int) -> None:
        for _, member_id in self.coordinator.take_called():
            number = int(member_id)
            heartbeat = Heartbeat(GROUP, member_id, 0, None, names_of(number), "c", "/h")
            self.coordinator.answer(heartbeat, limits=LIMITS, now_ms=now_ms, since_ms=0)


def test_a_round_of_very_many_places_is_held_in_portions_and_has_the_same_outcome() -> None:
    # Given
    large = LargeGroup()
    topics = large.group.topics
    expected = assign(
        {each.member_id: topics.ids(each.subscribed_topic_names) for each in large.group.members.values()},
        topics.assignable(),
        {},
    )

    # When
    looks = large.hold_rounds(50)

    # Then
    assert len(looks) > 5
    assert max(looks) < 2 * PLACES_AT_ONCE
    assert large.group.image().target == expected
    assert len(large.coordinator.take_called()) == 100


def test_until_a_round_is_over_nobody_is_told_of_it_and_whoever_joins_waits() -> None:
    # Given
    large = LargeGroup()
    large.go_on(50)

    # When
    of_newcomer = large.say(100, names=NAMES, now_ms=60)

    # Then
    assert isinstance(of_newcomer, HeldHeartbeat)
    assert of_newcomer.until_ms == 1_060
    assert (large.group.assignment_epoch, large.group.image().target) == (0, {})
    assert large.coordinator.take_called() == ()


def test_a_group_that_goes_on_changing_gets_its_assignment_all_the_same() -> None:
    # Given
    large = LargeGroup()
    begun_epoch = large.group.group_epoch
    number = 100

    # When
    while large.group.assignment_epoch == 0:
        large.go_on(50)
        large.say(number, names=names_of(number), now_ms=50)
        number += 1

    # Then
    assert number < 150
    assert begun_epoch == int(large.group.assignment_epoch) < large.group.group_epoch
    assert len(large.group.image().target) == 100
    large.hold_rounds(200)
    large.hold_rounds(1_100)
    assert len(large.group.image().target) == number
    assert int(large.group.assignment_epoch) == large.group.group_epoch


def test_a_member_that_cannot_wait_gets_an_assignment_of_nothing_and_then_the_one_for_it() -> None:
    # Given
    large = LargeGroup()
    large.go_on(50)

    # When
    said = large.say(7, names=names_of(7), now_ms=60, is_hurried=True)

    # Then
    assert isinstance(said, HeartbeatAnswer)
    assert (said.member_epoch > 0, said.assignment) == (True, ())
    assert int(said.member_epoch) == large.group.assignment_epoch
    large.hold_rounds(120)
    assert large.group.assignment_epoch > said.member_epoch
    assert len(large.group.image().target[MemberId("007")]) > 0


def test_a_group_whose_last_member_leaves_in_the_middle_of_a_round_begins_anew() -> None:
    # Given
    large = LargeGroup()
    large.go_on(50)
    for member_id in tuple(large.group.members):
        large.group.remove(member_id, 60)

    # When
    large.say(0, names=names_of(0), now_ms=70)
    large.hold_rounds(200)

    # Then
    assert list(large.group.image().target) == ["000"]


def test_a_round_that_nobody_goes_on_with_is_gone_on_with_by_the_heartbeats_that_wait_for_it() -> None:
    # Given
    large = LargeGroup()
    large.go_on(50)
    now_ms = 60

    # When
    said = large.say(7, names=names_of(7), now_ms=now_ms)
    while isinstance(said, HeldHeartbeat) and now_ms < 60_000:
        now_ms = said.until_ms
        heartbeat = Heartbeat(GROUP, MemberId("007"), 0, None, names_of(7), "c", "/h")
        said = large.coordinator.answer(heartbeat, limits=LIMITS, now_ms=now_ms, since_ms=60)

    # Then
    assert isinstance(said, HeartbeatAnswer)
    assert said.assignment


def test_members_of_a_large_group_that_is_restored_are_counted_in_portions_and_told_nothing_before() -> None:
    # Given
    large = LargeGroup()
    large.hold_rounds(50)
    large.answer_called(50)
    image = large.group.image()
    LookedUpId.look_ups = 0

    # When
    large.coordinator.restore(image, limits=LIMITS, now_ms=10_000)
    epoch = image.members[MemberId("007")].member_epoch
    said = large.say(7, epoch=epoch, now_ms=10_010)
    looks = large.hold_rounds(10_020)
    again = large.say(7, epoch=epoch, now_ms=10_030)

    # Then
    assert isinstance(said, HeldHeartbeat)
    assert said.until_ms == 11_010
    assert len(looks) > 1
    assert max(looks) < 2 * PLACES_AT_ONCE
    assert isinstance(again, HeldHeartbeat)
    assert large.group.members[MemberId("007")].assigned == image.target[MemberId("007")]


def test_of_wide_members_whose_sessions_run_out_together_some_are_removed_at_a_time() -> None:
    # Given
    large = LargeGroup()
    large.hold_rounds(50)
    large.answer_called(50)

    # When
    removed = large.coordinator.expire_sessions(1_000_000, at_most=20)

    # Then
    assert 0 < len(removed) < 20


def test_members_that_get_the_same_have_one_set_of_partitions() -> None:
    # Given
    ids = [TopicId(f"{number:016}".encode()) for number in range(50)]
    subscriptions = {MemberId(f"{number}"): frozenset(ids[number % 2 :]) for number in range(40)}

    # When
    first = assign(subscriptions, dict.fromkeys(ids, frozenset([0])), {})
    second = assign(subscriptions, dict.fromkeys(ids, frozenset([0])), first)

    # Then
    assert len({id(partitions) for partitions in first.values()}) == 2
    assert all(second[member_id] is partitions for member_id, partitions in first.items())


def test_who_is_heard_while_a_round_is_under_way_is_called_for_what_that_opens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given: two members share ten topics, and the connection of one of them has closed
    for module in (group_assignment, group_coordinator, share_group):
        monkeypatch.setattr(module, "PLACES_AT_ONCE", 1)
    monkeypatch.setattr(group_coordinator, "PLACES_OF_ONE", 1)
    pair, names = LargeGroup(0), NAMES[:10]
    for number in range(2):
        pair.say(number, names=names, now_ms=0)
    for now_ms in (50, 1_100):
        pair.hold_rounds(now_ms)
        for _, member_id in pair.coordinator.take_called():
            join = Heartbeat(GROUP, member_id, 0, None, names, "c", "/h")
            pair.coordinator.answer(join, limits=LIMITS, now_ms=now_ms, since_ms=0)
    epoch = pair.group.members[MemberId("001")].member_epoch
    pair.coordinator.lose(GROUP, MemberId("000"), now_ms=3_000)
    pair.go_on(3_050)

    # When
    held = pair.say(1, epoch=epoch, now_ms=3_050)
    pair.hold_rounds(3_050)

    # Then
    assert isinstance(held, HeldHeartbeat)
    assert pair.coordinator.take_called() == ((GROUP, MemberId("001")),)
