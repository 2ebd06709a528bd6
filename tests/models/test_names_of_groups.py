"""How many names the subscriptions of all groups have, and what it costs when many of them go."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import PolicyViolation
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from tests.worlds.share_builders import ALICE, BOB, ORDERS
from tests.worlds.share_group_world import ShareGroupWorld

OTHERS = GroupId("others")
LIMITS = GroupLimits(session_timeout_ms=45_000, assignment_interval_ms=0)


def said_by(member_id: MemberId, member_epoch: int = 0, *names: str, group_id: GroupId = ORDERS) -> Heartbeat:
    """A heartbeat; without names the subscription did not change."""
    return Heartbeat(group_id, member_id, member_epoch, None, names or None, "client", "/127.0.0.1")


def serve(coordinator: GroupCoordinator, heartbeat: Heartbeat) -> None:
    """Serve a heartbeat as the handler does; none of the topics exists."""
    asked = dict.fromkeys(coordinator.topic_names(heartbeat))
    coordinator.admit(heartbeat, topics=asked, limits=LIMITS, now_ms=0)
    coordinator.answer(heartbeat, limits=LIMITS, now_ms=0)


def test_members_that_were_the_last_to_name_many_topics_expire_a_few_at_a_time() -> None:
    # Given
    coordinator = GroupCoordinator()
    for number in range(20):
        names = [f"{number}.{each}" for each in range(500)]
        serve(coordinator, said_by(MemberId(f"member {number}"), 0, *names))

    # When
    first = coordinator.expire_sessions(45_000, at_most=30)
    is_due_still = (coordinator.next_deadline_ms() or 45_001) <= 45_000
    rest = coordinator.expire_sessions(45_000)

    # Then
    assert 1 < len(first) < 10
    assert is_due_still
    assert len(first) + len(rest) == 20


def test_members_that_name_the_same_topics_expire_like_those_of_one_topic() -> None:
    # Given
    coordinator = GroupCoordinator()
    names = [f"{each}" for each in range(1_000)]
    for number in range(20):
        serve(coordinator, said_by(MemberId(f"member {number}"), 0, *names))

    # When
    expired = coordinator.expire_sessions(45_000, at_most=20)

    # Then
    assert len(expired) == 20


def test_a_subscription_beyond_what_all_groups_may_name_is_refused_and_makes_no_group() -> None:
    # Given
    coordinator = GroupCoordinator(most_names=10)
    serve(coordinator, said_by(ALICE, 0, *"abcdef"))

    # When
    with pytest.raises(PolicyViolation) as refused:
        serve(coordinator, said_by(BOB, 0, *"abcde", group_id=OTHERS))

    # Then
    assert "kproxy.share.groups.max.subscribed.topics=10" in str(refused.value)
    assert "11 topics" in str(refused.value)
    assert coordinator.group_ids == (ORDERS,)
    assert coordinator.names.count == 6


def test_members_of_a_group_that_name_the_same_topics_count_once_and_may_always_name_fewer() -> None:
    # Given
    coordinator = GroupCoordinator(most_names=6)
    for member_id in (ALICE, BOB):
        serve(coordinator, said_by(member_id, 0, *"abcdef"))

    # When
    for member_id in (ALICE, BOB):
        coordinator.leave(said_by(member_id, -1), now_ms=0)
    of_nobody = coordinator.names.count
    serve(coordinator, said_by(ALICE, 0, *"abcd"))

    # Then
    assert of_nobody == 0
    assert coordinator.names.count == 4


def test_what_is_restored_counts_and_is_never_refused_and_what_is_forgotten_counts_no_more() -> None:
    # Given
    before = GroupCoordinator()
    serve(before, said_by(ALICE, 0, *"abcdef"))
    group = before.find(ORDERS)
    assert group is not None
    coordinator = GroupCoordinator(most_names=4)

    # When
    for _ in range(2):
        coordinator.restore(group.image(), limits=LIMITS, now_ms=0)
    restored = coordinator.names.count
    coordinator.forget(ORDERS)

    # Then
    assert restored == 6
    assert coordinator.names.count == 0


async def test_a_heartbeat_that_names_more_than_all_groups_may_is_answered_with_the_reason_and_counted() -> (
    None
):
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(max_subscribed_names=3))
    await world.member("bob", group_id="others").heartbeat(0, ["paid", "sent"])

    # When
    answer = await world.member().heartbeat(0, ["orders", "paid"])

    # Then
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert "kproxy.share.groups.max.subscribed.topics=3" in (answer.error_message or "")
    assert world.observer.counts["share_subscriptions_refused",] == 1
    assert world.groups.coordinator.group_ids == ("others",)
