"""One share group: epochs, initialization, and when a new assignment is computed and told."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import FencedMemberEpoch, GroupMaxSizeReached, UnknownMemberId
from kproxy.share.heartbeat import (
    AssignedTopic,
    Heartbeat,
    HeartbeatAnswer,
    PartitionInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import MemberId, SharePartitionKey, StateEpoch
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import StatePartitions
from tests.worlds.share_builders import ALICE, BOB, ORDERS, OTHER_TOPIC, TOPIC, keys_of

LIMITS = GroupLimits(max_size=2, assignment_interval_ms=1_000)
PAID: Mapping[str, TopicPartitions | None] = {"paid": TopicPartitions(TOPIC, 2)}
PAID_AND_SENT = {**PAID, "sent": TopicPartitions(OTHER_TOPIC, 1)}


def said_by(member_id: MemberId, member_epoch: int, *names: str) -> Heartbeat:
    return Heartbeat(ORDERS, member_id, member_epoch, None, names or None, "client", "/127.0.0.1")


def serve(
    group: ShareGroup,
    heartbeat: Heartbeat,
    *,
    topics: Mapping[str, TopicPartitions | None] = PAID,
    now_ms: int = 0,
) -> HeartbeatAnswer:
    wanted = group.admit(heartbeat, topics=topics, limits=LIMITS, now_ms=now_ms)
    group.initialized(keys_of(wanted))
    return answered(group, heartbeat, now_ms=now_ms)


def answered(group: ShareGroup, heartbeat: Heartbeat, *, now_ms: int = 0) -> HeartbeatAnswer:
    """The answer of a group whose heartbeats are not held."""
    answer = group.answer(heartbeat, limits=LIMITS, now_ms=now_ms)
    assert isinstance(answer, HeartbeatAnswer)
    return answer


def assigned(answer: HeartbeatAnswer) -> list[tuple[str, tuple[int, ...]]]:
    """What the answer tells, by name; fails when it tells nothing."""
    assert answer.assignment is not None
    return [(topic.topic_name, topic.partitions) for topic in answer.assignment]


def test_new_topics_are_initialized_with_the_group_epoch_and_an_offset_chosen_later() -> None:
    # Given
    group = ShareGroup(ORDERS)

    # When
    wanted = group.admit(said_by(ALICE, 0, "paid"), topics=PAID, limits=LIMITS, now_ms=0)

    # Then
    assert [initialization for topic in wanted for initialization in topic.initializations()] == [
        PartitionInitialization(SharePartitionKey(ORDERS, TOPIC, number), StateEpoch(1), -1)
        for number in (0, 1)
    ]


def test_partitions_added_to_a_known_topic_are_initialized_at_offset_0() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))
    grown = {"paid": TopicPartitions(TOPIC, 3)}

    # When
    wanted = group.admit(said_by(ALICE, joined.member_epoch), topics=grown, limits=LIMITS, now_ms=5_000)

    # Then
    assert [(w.partitions, w.state_epoch, w.start_offset) for w in wanted] == [((2,), 2, 0)]


def test_an_initialization_under_way_is_not_asked_for_again_before_the_retry_interval() -> None:
    # Given
    group = ShareGroup(ORDERS)
    heartbeat = said_by(ALICE, 0, "paid")
    group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=0)

    # When
    soon = group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=29_999)
    late = group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=30_000)

    # Then
    assert soon == ()
    assert [key.partition for key in keys_of(late)] == [0, 1]


def test_a_failed_initialization_is_asked_for_by_the_next_heartbeat() -> None:
    # Given
    group = ShareGroup(ORDERS)
    heartbeat = said_by(ALICE, 0, "paid")
    wanted = group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=0)

    # When
    group.topics.state_partitions.fail(keys_of(wanted))

    # Then
    assert group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=1) == wanted


def test_only_initialized_partitions_are_assigned() -> None:
    # Given
    group = ShareGroup(ORDERS)
    heartbeat = said_by(ALICE, 0, "paid")
    wanted = group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=0)
    group.initialized(keys_of(wanted)[1:])

    # When
    answer = answered(group, heartbeat)

    # Then
    assert assigned(answer) == [("paid", (1,))]


def test_partitions_initialized_late_are_told_as_soon_as_they_can_be() -> None:
    """The first answer had nothing to assign, so the interval between assignments has not begun."""
    # Given
    group = ShareGroup(ORDERS)
    joining = said_by(ALICE, 0, "paid")
    wanted = group.admit(joining, topics=PAID, limits=LIMITS, now_ms=0)
    first = answered(group, joining)

    # When
    group.initialized(keys_of(wanted))
    second = serve(group, said_by(ALICE, first.member_epoch), now_ms=1)

    # Then
    assert (first.member_epoch, assigned(first)) == (1, [])
    assert (second.member_epoch, assigned(second)) == (2, [("paid", (0, 1))])


def test_assignments_are_computed_at_most_once_in_an_interval() -> None:
    # Given
    group = ShareGroup(ORDERS)
    of_alice = serve(group, said_by(ALICE, 0, "paid"), now_ms=0)

    # When
    too_soon = serve(group, said_by(BOB, 0, "paid"), now_ms=999)
    in_time = serve(group, said_by(BOB, too_soon.member_epoch), now_ms=1_000)
    rest = serve(group, said_by(ALICE, of_alice.member_epoch), now_ms=1_000)

    # Then
    assert (too_soon.member_epoch, assigned(too_soon)) == (1, [])
    assert (in_time.member_epoch, assigned(in_time)) == (2, [("paid", (1,))])
    assert (rest.member_epoch, assigned(rest)) == (2, [("paid", (0,))])


def test_an_emptied_group_computes_at_once_for_whoever_joins() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"), now_ms=0)
    group.remove(ALICE, 0)

    # When
    answer = serve(group, said_by(BOB, 0, "paid"), now_ms=1)

    # Then
    assert assigned(answer) == [("paid", (0, 1))]


def test_the_assignment_is_told_when_the_member_names_its_topics() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))

    # When
    answer = serve(group, said_by(ALICE, joined.member_epoch, "paid"), now_ms=5_000)

    # Then
    assert answer.member_epoch == joined.member_epoch
    assert assigned(answer) == [("paid", (0, 1))]


def test_a_changed_subscription_raises_the_epoch_and_the_assignment_follows() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))

    # When
    answer = serve(
        group, said_by(ALICE, joined.member_epoch, "paid", "sent"), topics=PAID_AND_SENT, now_ms=5_000
    )

    # Then
    assert answer.member_epoch == joined.member_epoch + 1
    assert assigned(answer) == [("paid", (0, 1)), ("sent", (0,))]


def test_a_topic_given_up_is_lost_at_once_even_while_the_assignment_waits() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid", "sent"), topics=PAID_AND_SENT, now_ms=0)

    # When
    answer = serve(group, said_by(ALICE, joined.member_epoch, "sent"), topics=PAID_AND_SENT, now_ms=1)

    # Then
    assert answer.member_epoch == joined.member_epoch
    assert assigned(answer) == [("sent", (0,))]


def test_a_member_may_unsubscribe_from_everything() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))
    nothing = replace(said_by(ALICE, joined.member_epoch), subscribed_topic_names=())

    # When
    answer = serve(group, nothing, now_ms=5_000)

    # Then
    assert assigned(answer) == []


def test_a_topic_created_after_the_subscription_is_assigned_when_it_appears() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"), topics={"paid": None})

    # When
    answer = serve(group, said_by(ALICE, joined.member_epoch), now_ms=5_000)

    # Then
    assert joined.assignment == ()
    assert assigned(answer) == [("paid", (0, 1))]


def test_a_topic_that_was_not_asked_about_stays_as_it_was_known() -> None:
    """Another member subscribed to it while this heartbeat waited for the cluster's answer."""
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid", "sent"), topics=PAID_AND_SENT)

    # When
    answer = serve(group, said_by(ALICE, joined.member_epoch), topics=PAID, now_ms=5_000)

    # Then
    assert answer == HeartbeatAnswer(ALICE, joined.member_epoch, 5_000, None)


def test_a_deleted_topic_is_taken_away_and_its_share_partitions_are_named() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid", "sent"), topics=PAID_AND_SENT)
    gone = {**PAID, "sent": None}

    # When
    group.delete_topics([OTHER_TOPIC])
    answer = serve(group, said_by(ALICE, joined.member_epoch), topics=gone, now_ms=5_000)

    # Then
    assert group.image().deleting == {OTHER_TOPIC: StatePartitions("sent", frozenset({0}))}
    assert assigned(answer) == [("paid", (0, 1))]


def test_a_topic_deleted_while_it_is_initialized_is_not_assigned() -> None:
    # Given
    group = ShareGroup(ORDERS)
    heartbeat = said_by(ALICE, 0, "paid")
    wanted = group.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=0)
    group.delete_topics([TOPIC])

    # When
    group.initialized(keys_of(wanted))
    answer = answered(group, heartbeat)

    # Then
    assert group.image().deleting == {TOPIC: StatePartitions("paid", frozenset({0, 1}))}
    assert assigned(answer) == []


def test_a_topic_recreated_under_its_name_is_initialized_anew() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))
    recreated = {"paid": TopicPartitions(OTHER_TOPIC, 1)}

    # When
    wanted = group.admit(said_by(ALICE, joined.member_epoch), topics=recreated, limits=LIMITS, now_ms=5_000)

    # Then
    assert keys_of(wanted) == [SharePartitionKey(ORDERS, OTHER_TOPIC, 0)]
    assert [each.start_offset for each in wanted] == [-1]


def test_the_previous_epoch_is_accepted_because_an_answer_may_be_lost() -> None:
    # Given
    group = ShareGroup(ORDERS)
    first = serve(group, said_by(ALICE, 0, "paid"))
    second = serve(group, said_by(ALICE, first.member_epoch, "paid", "x"), now_ms=5_000)

    # When
    answer = serve(group, said_by(ALICE, first.member_epoch), now_ms=5_001)

    # Then
    assert second.member_epoch == first.member_epoch + 1
    assert answer.member_epoch == second.member_epoch


@pytest.mark.parametrize("member_epoch", [3, 99])
def test_any_other_epoch_is_fenced_and_the_member_may_rejoin(member_epoch: int) -> None:
    # Given
    group = ShareGroup(ORDERS)
    joined = serve(group, said_by(ALICE, 0, "paid"))
    with pytest.raises(FencedMemberEpoch) as refusal:
        serve(group, said_by(ALICE, member_epoch))

    # When
    answer = serve(group, said_by(ALICE, 0, "paid"))

    # Then
    assert refusal.value.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert answer == joined


def test_a_full_group_admits_no_more_members() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    serve(group, said_by(BOB, 0, "paid"))

    # When
    with pytest.raises(GroupMaxSizeReached) as refusal:
        serve(group, said_by(MemberId("carol"), 0, "paid"))

    # Then
    assert refusal.value.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(group.members) == [ALICE, BOB]


def test_a_member_that_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(UnknownMemberId) as refusal:
        ShareGroup(ORDERS).remove(ALICE, 0)

    assert refusal.value.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_what_a_member_says_of_itself_is_kept_until_it_says_something_else() -> None:
    # Given
    group = ShareGroup(ORDERS)
    joining = Heartbeat(ORDERS, ALICE, 0, "rack-1", ("paid",), "first", "/10.0.0.1")
    joined = serve(group, joining)

    # When
    serve(group, Heartbeat(ORDERS, ALICE, joined.member_epoch, None, None, "second", "/10.0.0.2"))

    # Then
    member = group.members[ALICE]
    assert (member.rack_id, member.client_id, member.client_host) == ("rack-1", "second", "/10.0.0.2")
    assert group.topics.named(member.assigned) == (AssignedTopic(TOPIC, "paid", (0, 1)),)


def test_an_image_takes_over_every_member_that_has_not_changed_from_the_one_before() -> None:
    """Each of very many answers has an image: to describe all members anew would keep others waiting."""
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    serve(group, said_by(BOB, 0, "paid"), now_ms=2_000)
    before = group.image()

    # When
    serve(group, replace(said_by(BOB, 0, "paid"), client_id="another"), now_ms=2_000)
    after = group.image()

    # Then
    assert after.members[ALICE] is before.members[ALICE]
    assert (before.members[BOB].client_id, after.members[BOB].client_id) == ("client", "another")
    assert after.members == {member_id: member.image() for member_id, member in group.members.items()}
