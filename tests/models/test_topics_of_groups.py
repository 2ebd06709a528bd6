"""Which topics a heartbeat has the cluster asked about, and how many those of one group may be."""

from dataclasses import replace

import pytest

from kproxy.errors import InvalidRequest
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import MAX_SUBSCRIBED_TOPICS, Heartbeat, HeartbeatAnswer, TopicPartitions
from kproxy.share.identifiers import MemberId
from kproxy.share.limits import GroupLimits
from tests.worlds.share_builders import ALICE, BOB, ORDERS, TOPIC, keys_of

PAID = TopicPartitions(TOPIC, 2)
CAROL = MemberId("carol")
LIMITS = GroupLimits(assignment_interval_ms=0)


def said_by(member_id: MemberId, member_epoch: int = 0, *names: str) -> Heartbeat:
    """A heartbeat; without names the subscription did not change."""
    return Heartbeat(ORDERS, member_id, member_epoch, None, names or None, "client", "/127.0.0.1")


def serve(coordinator: GroupCoordinator, heartbeat: Heartbeat) -> HeartbeatAnswer:
    """Serve a heartbeat as the handler does; `paid` exists, and every initialization succeeds."""
    asked = {name: PAID if name == "paid" else None for name in coordinator.topic_names(heartbeat)}
    wanted = coordinator.admit(heartbeat, topics=asked, limits=LIMITS, now_ms=0)
    coordinator.initialized(heartbeat.group_id, keys_of(wanted))
    return answered(coordinator, heartbeat)


def answered(coordinator: GroupCoordinator, heartbeat: Heartbeat) -> HeartbeatAnswer:
    """The answer where heartbeats are not held."""
    answer = coordinator.answer(heartbeat, limits=LIMITS, now_ms=0)
    assert isinstance(answer, HeartbeatAnswer)
    return answer


def test_the_cluster_is_asked_for_what_a_heartbeat_names_and_no_more() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined = serve(coordinator, said_by(ALICE, 0, "paid"))

    # Then
    assert coordinator.topic_names(said_by(BOB, 0, "sent")) == {"sent"}
    assert coordinator.topic_names(said_by(ALICE, joined.member_epoch)) == frozenset()


def test_the_topics_of_the_whole_group_are_asked_for_again_once_when_topics_have_moved() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    joined = serve(coordinator, said_by(BOB, 0, "sent"))
    heartbeat = said_by(BOB, joined.member_epoch)

    # When
    coordinator.topics_moved()
    asked, asked_by_a_stranger = (
        coordinator.topic_names(heartbeat),
        coordinator.topic_names(said_by(CAROL, 1)),
    )
    answered_for = serve(coordinator, heartbeat)

    # Then
    assert asked == {"paid", "sent"}
    assert asked_by_a_stranger == frozenset()
    assert coordinator.topic_names(said_by(BOB, answered_for.member_epoch)) == frozenset()


def test_topics_are_asked_for_again_while_the_cluster_does_not_answer() -> None:
    # Given
    coordinator = GroupCoordinator()
    heartbeat = said_by(ALICE, 0, "paid")
    coordinator.admit(heartbeat, topics={}, limits=LIMITS, now_ms=0)
    joined = answered(coordinator, heartbeat)

    # When
    names = coordinator.topic_names(said_by(ALICE, joined.member_epoch))

    # Then
    assert names == {"paid"}


def test_a_restored_group_asks_for_all_of_its_topics_once() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    joined = serve(coordinator, said_by(BOB, 0, "sent"))
    group = coordinator.find(ORDERS)
    assert group is not None

    # When
    coordinator.restore(group.image(), limits=LIMITS, now_ms=0)

    # Then
    assert coordinator.topic_names(said_by(BOB, joined.member_epoch)) == {"paid", "sent"}


def test_a_subscription_that_is_too_much_for_its_group_is_refused_and_changes_nothing() -> None:
    """Each member may name as many topics; what the group watches is what all of them name together."""
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, *(f"a{number}" for number in range(MAX_SUBSCRIBED_TOPICS - 1))))
    joined = serve(coordinator, said_by(BOB, 0, "b"))
    before = coordinator.describe(ORDERS)

    # When
    with pytest.raises(InvalidRequest, match="10001 topics together, expected 10000 at most"):
        serve(coordinator, said_by(CAROL, 0, "c"))
    with pytest.raises(InvalidRequest, match="10001 topics together"):
        serve(coordinator, said_by(BOB, joined.member_epoch, "b", "c"))
    unchanged = coordinator.describe(ORDERS)
    another = serve(coordinator, said_by(BOB, joined.member_epoch, "c"))

    # Then
    assert unchanged == before
    assert another.member_epoch > joined.member_epoch


def test_a_group_that_has_too_many_topics_already_goes_on_with_those() -> None:
    """One that is restored, and was made when the bound was another one; a heartbeat never asks for all of them."""
    # Given
    coordinator = GroupCoordinator()
    joined = serve(coordinator, said_by(ALICE, 0, *(f"a{number}" for number in range(MAX_SUBSCRIBED_TOPICS))))
    group = coordinator.find(ORDERS)
    assert group is not None
    image = group.image()
    bob = replace(image.members[ALICE], subscribed_topic_names=frozenset(f"b{n}" for n in range(10)))

    # When
    coordinator.restore(replace(image, members={**image.members, BOB: bob}), limits=LIMITS, now_ms=0)
    names = coordinator.topic_names(said_by(BOB, joined.member_epoch))
    answer = serve(coordinator, said_by(BOB, joined.member_epoch, *(f"b{n}" for n in range(9))))

    # Then
    assert len(names) == MAX_SUBSCRIBED_TOPICS
    assert answer.member_epoch > joined.member_epoch
