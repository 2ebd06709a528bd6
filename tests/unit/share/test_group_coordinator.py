"""All share groups together: joining, leaving, silence, description (conformance cases 69 to 82)."""

from collections.abc import Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    GroupIdNotFound,
    InvalidRequest,
    UnknownMemberId,
)
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import AssignedTopic, Heartbeat, HeartbeatAnswer, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_image import ShareGroupState
from kproxy.share.share_group_member import ExpiredMember
from kproxy.share.views.group_views import ShareGroupMemberView, ShareGroupView
from tests.worlds.share_builders import ALICE, BOB, ORDERS, OTHER_TOPIC, TOPIC, keys_of

TOPICS: Mapping[str, TopicPartitions | None] = {"paid": TopicPartitions(TOPIC, 2)}
LIMITS = GroupLimits(session_timeout_ms=45_000, assignment_interval_ms=0)
ALL_OF_PAID = (AssignedTopic(TOPIC, "paid", (0, 1)),)


def said_by(
    member_id: MemberId,
    member_epoch: int = 0,
    *names: str,
    group_id: GroupId = ORDERS,
) -> Heartbeat:
    """A heartbeat; without names the subscription did not change."""
    return Heartbeat(group_id, member_id, member_epoch, None, names or None, "client", "/127.0.0.1")


def serve(
    coordinator: GroupCoordinator,
    heartbeat: Heartbeat,
    *,
    topics: Mapping[str, TopicPartitions | None] = TOPICS,
    limits: GroupLimits = LIMITS,
    now_ms: int = 0,
) -> HeartbeatAnswer:
    """Serve a heartbeat as the handler does; every initialization succeeds."""
    asked = {name: topics.get(name) for name in coordinator.topic_names(heartbeat)}
    wanted = coordinator.admit(heartbeat, topics=asked, limits=limits, now_ms=now_ms)
    coordinator.initialized(heartbeat.group_id, keys_of(wanted))
    return answered(coordinator, heartbeat, limits=limits, now_ms=now_ms)


def answered(
    coordinator: GroupCoordinator, heartbeat: Heartbeat, *, limits: GroupLimits = LIMITS, now_ms: int = 0
) -> HeartbeatAnswer:
    """The answer where heartbeats are not held."""
    answer = coordinator.answer(heartbeat, limits=limits, now_ms=now_ms)
    assert isinstance(answer, HeartbeatAnswer)
    return answer


def test_the_first_answer_carries_the_whole_assignment() -> None:
    # Given
    coordinator = GroupCoordinator()

    # When
    answer = serve(coordinator, said_by(ALICE, 0, "paid"))

    # Then
    assert answer == HeartbeatAnswer(ALICE, answer.member_epoch, 5_000, ALL_OF_PAID)
    assert answer.member_epoch == coordinator.rebalance_count == 1


def test_a_steady_heartbeat_is_told_nothing_new() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined = serve(coordinator, said_by(ALICE, 0, "paid"))

    # When
    answer = serve(coordinator, said_by(ALICE, joined.member_epoch))

    # Then
    assert answer == HeartbeatAnswer(ALICE, joined.member_epoch, 5_000, None)
    assert coordinator.rebalance_count == 1


@pytest.mark.parametrize(
    ("heartbeat", "error_code"),
    [
        pytest.param(said_by(ALICE, 0), ErrorCode.INVALID_REQUEST, id="joining without topics"),
        pytest.param(said_by(ALICE, -2), ErrorCode.INVALID_REQUEST, id="epoch -2"),
        pytest.param(
            said_by(ALICE, 1, group_id=GroupId("x")), ErrorCode.GROUP_ID_NOT_FOUND, id="no such group"
        ),
        pytest.param(said_by(BOB, 1), ErrorCode.UNKNOWN_MEMBER_ID, id="no such member"),
        pytest.param(said_by(ALICE, 99), ErrorCode.FENCED_MEMBER_EPOCH, id="wrong epoch"),
    ],
)
def test_a_heartbeat_that_cannot_be_served_changes_nothing(
    heartbeat: Heartbeat, error_code: ErrorCode
) -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    before = coordinator.describe(ORDERS)

    # When
    with pytest.raises(ApiError) as refusal:
        serve(coordinator, heartbeat)

    # Then
    assert refusal.value.error_code is error_code
    assert coordinator.describe(ORDERS) == before
    assert coordinator.group_ids == (ORDERS,)


def test_the_ids_that_are_known_follow_what_happens() -> None:
    # Given
    coordinator = GroupCoordinator()
    known = coordinator.known_ids

    # When
    serve(coordinator, said_by(ALICE, 0, "paid"))
    after_join = set(known)
    coordinator.forget(ORDERS)

    # Then
    assert (after_join, set(known)) == ({ORDERS}, set())


def test_a_member_that_leaves_is_told_epoch_minus_1_and_its_partitions_go_to_the_others() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    of_bob = serve(coordinator, said_by(BOB, 0, "paid"))

    # When
    farewell = coordinator.leave(said_by(ALICE, -1), now_ms=0)
    answer = serve(coordinator, said_by(BOB, of_bob.member_epoch))

    # Then
    assert farewell == HeartbeatAnswer(ALICE, farewell.member_epoch, 0, None)
    assert farewell.member_epoch == -1
    assert answer.assignment == ALL_OF_PAID


@pytest.mark.parametrize(
    ("heartbeat", "error"),
    [
        pytest.param(said_by(ALICE, -1, group_id=GroupId("x")), GroupIdNotFound, id="no such group"),
        pytest.param(said_by(BOB, -1), UnknownMemberId, id="no such member"),
        pytest.param(said_by(ALICE, -1, group_id=GroupId("")), InvalidRequest, id="no group id"),
    ],
)
def test_who_is_not_there_cannot_leave(heartbeat: Heartbeat, error: type[ApiError]) -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))

    # When
    with pytest.raises(error):
        coordinator.leave(heartbeat, now_ms=0)

    # Then
    assert [member.member_id for member in coordinator.describe(ORDERS).members] == [ALICE]


def test_a_member_that_left_while_it_was_served_is_told_that_it_is_unknown() -> None:
    # Given
    coordinator = GroupCoordinator()
    heartbeat = said_by(ALICE, 0, "paid")
    coordinator.admit(heartbeat, topics=TOPICS, limits=LIMITS, now_ms=0)
    coordinator.expire_sessions(45_000)

    # When
    with pytest.raises(UnknownMemberId) as refusal:
        coordinator.answer(heartbeat, limits=LIMITS, now_ms=45_000)

    # Then
    assert refusal.value.error_code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_expires_at_the_end_of_its_session() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"), now_ms=0)
    serve(coordinator, said_by(BOB, 0, "paid"), now_ms=10_000)
    group_epoch = coordinator.describe(ORDERS).group_epoch
    too_early = coordinator.expire_sessions(44_999)

    # When
    expired = coordinator.expire_sessions(45_000)

    # Then
    assert too_early == ()
    assert expired == (ExpiredMember(ORDERS, ALICE),)
    view = coordinator.describe(ORDERS)
    assert [member.member_id for member in view.members] == [BOB]
    assert view.group_epoch == group_epoch + 1


def test_a_heartbeat_renews_the_session() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined = serve(coordinator, said_by(ALICE, 0, "paid"), now_ms=0)
    serve(coordinator, said_by(ALICE, joined.member_epoch), now_ms=40_000)

    # When
    expired = coordinator.expire_sessions(45_000)

    # Then
    assert expired == ()
    assert coordinator.next_deadline_ms() == 85_000


def test_a_shorter_session_timeout_takes_effect_with_the_next_heartbeat() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined = serve(coordinator, said_by(ALICE, 0, "paid"), now_ms=0)
    serve(
        coordinator,
        said_by(ALICE, joined.member_epoch),
        limits=GroupLimits(session_timeout_ms=10_000),
        now_ms=1_000,
    )

    # When
    deadline_ms = coordinator.next_deadline_ms()
    expired = coordinator.expire_sessions(11_000)

    # Then
    assert deadline_ms == 11_000
    assert expired == (ExpiredMember(ORDERS, ALICE),)
    assert coordinator.expire_sessions(45_000) == ()


def test_a_member_that_left_and_came_back_is_not_expired_by_its_former_session() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"), now_ms=0)
    coordinator.leave(said_by(ALICE, -1), now_ms=0)
    serve(coordinator, said_by(ALICE, 0, "paid"), now_ms=40_000)

    # When
    expired = coordinator.expire_sessions(45_000)

    # Then
    assert expired == ()
    assert coordinator.next_deadline_ms() == 85_000
    assert len(coordinator._session_checks) == 1


def test_a_coordinator_without_members_has_no_deadline() -> None:
    assert GroupCoordinator().next_deadline_ms() is None


def test_what_failed_to_be_initialized_is_tried_again_with_the_next_heartbeat() -> None:
    # Given
    coordinator = GroupCoordinator()
    heartbeat = said_by(ALICE, 0, "paid")
    wanted = coordinator.admit(heartbeat, topics=TOPICS, limits=LIMITS, now_ms=0)

    # When
    coordinator.initialization_failed(ORDERS, keys_of(wanted))
    answer = answered(coordinator, heartbeat)
    retried = serve(coordinator, said_by(ALICE, answer.member_epoch), now_ms=5_000)

    # Then
    assert answer.assignment == ()
    assert retried.assignment == ALL_OF_PAID


def test_a_description_shows_members_epochs_and_assignments() -> None:
    # Given
    coordinator = GroupCoordinator()
    heartbeat = Heartbeat(ORDERS, ALICE, 0, "rack-1", ("sent", "paid"), "console", "/10.0.0.1")
    serve(coordinator, heartbeat)

    # When
    view = coordinator.describe(ORDERS)

    # Then
    assert view == ShareGroupView(
        group_id=ORDERS,
        state=ShareGroupState.STABLE,
        group_epoch=view.group_epoch,
        assignment_epoch=view.assignment_epoch,
        assignor_name="simple",
        member_count=1,
        members=(
            ShareGroupMemberView(
                member_id=ALICE,
                rack_id="rack-1",
                member_epoch=view.members[0].member_epoch,
                client_id="console",
                client_host="/10.0.0.1",
                subscribed_topic_names=("paid", "sent"),
                assignment=ALL_OF_PAID,
                heard_ms=0,
                session_deadline_ms=LIMITS.session_timeout_ms,
                heartbeat_interval_ms=LIMITS.heartbeat_interval_ms,
            ),
        ),
    )
    assert (view.group_epoch, view.assignment_epoch, view.members[0].member_epoch) == (1, 1, 1)


def test_an_emptied_group_stays_and_is_described_as_empty() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))

    # When
    coordinator.leave(said_by(ALICE, -1), now_ms=0)

    # Then
    view = coordinator.describe(ORDERS)
    assert (view.state.value, view.members) == ("Empty", ())
    assert (view.assignment_epoch, view.group_epoch) == (2, 2)


def test_nobody_joins_a_group_that_is_being_deleted() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    coordinator.leave(said_by(ALICE, -1), now_ms=0)
    coordinator.require_empty(ORDERS).begin_deletion()

    # When
    with pytest.raises(CoordinatorLoadInProgress):
        serve(coordinator, said_by(BOB, 0, "paid"))

    # Then
    assert coordinator.being_deleted() == (ORDERS,)
    assert coordinator.describe(ORDERS).members == ()


def test_an_unknown_group_cannot_be_described() -> None:
    with pytest.raises(GroupIdNotFound) as refusal:
        GroupCoordinator().describe(ORDERS)

    assert refusal.value.error_code is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_has_topics_with_state_until_they_are_deleted() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    group = coordinator.find(ORDERS)
    assert group is not None
    before = dict(group.state_topic_names)

    # When
    group.delete_topics([TOPIC])
    deleting = group.deleting_topic_ids
    coordinator.topics_deleted(ORDERS, [TOPIC])

    # Then
    assert before == {TOPIC: "paid"}
    assert deleting == (TOPIC,)
    assert group.state_topic_names == {}
    assert group.deleting_topic_ids == ()


def test_deleting_what_no_group_consumed_changes_nothing() -> None:
    # Given
    coordinator = GroupCoordinator()
    serve(coordinator, said_by(ALICE, 0, "paid"))
    group = coordinator.find(ORDERS)
    assert group is not None
    image = group.image()

    # When
    group.delete_topics([OTHER_TOPIC])
    coordinator.topics_deleted(ORDERS, [OTHER_TOPIC])

    # Then
    assert group.image() is image


def test_a_group_that_is_put_back_again_and_again_is_watched_no_more_than_once() -> None:
    """A member whose writes are refused restores the group with each of its heartbeats."""
    # Given
    coordinator = GroupCoordinator()
    for member_id in (ALICE, BOB):
        serve(coordinator, said_by(member_id, 0, "paid"))
    group = coordinator.find(ORDERS)
    assert group is not None
    image = group.image()

    # When
    for now_ms in range(100):
        coordinator.restore(image, limits=LIMITS, now_ms=now_ms, replaced=coordinator.find(ORDERS))

    # Then
    assert len(coordinator._session_checks) == 2
    assert coordinator.expire_sessions(44_999) == ()
    assert {each.member_id for each in coordinator.expire_sessions(45_000)} == {ALICE, BOB}
