"""Images of groups: what outlives the process, and what is made of it afterwards."""

from collections.abc import Mapping
from dataclasses import replace

from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from tests.unit.share.test_share_group import LIMITS, PAID, assigned, said_by, serve
from tests.worlds.share_builders import ALICE, BOB, ORDERS, TOPIC, keys_of


def joined(coordinator: GroupCoordinator) -> None:
    """Let Alice join."""
    heartbeat = said_by(ALICE, 0, "paid")
    wanted = coordinator.admit(heartbeat, topics=PAID, limits=LIMITS, now_ms=0)
    coordinator.initialized(ORDERS, keys_of(wanted))
    coordinator.answer(heartbeat, limits=LIMITS, now_ms=0)


def an_image() -> ShareGroupImage:
    group = ShareGroup(ORDERS)
    group.admit(said_by(ALICE, 0, "paid"), topics=PAID, limits=LIMITS, now_ms=0)
    return group.image()


def test_images_of_groups_that_went_through_the_same_are_equal() -> None:
    # When
    first, second = an_image(), an_image()

    # Then
    assert first is not second
    assert first == second


def restored(group: ShareGroup, *, now_ms: int = 0) -> ShareGroup:
    return ShareGroup.restore(group.image(), LIMITS, now_ms=now_ms)


def test_the_image_stays_the_same_object_while_nothing_of_it_changes() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    image, revision = group.image(), group.revision

    # When
    serve(group, said_by(ALICE, 1), now_ms=5_000)

    # Then
    assert group.image() is image
    assert group.revision == revision


def test_every_change_of_the_image_has_a_revision() -> None:
    # Given
    group = ShareGroup(ORDERS)
    seen = {(group.revision, repr(group.image()))}

    # When
    for step in (
        lambda: group.admit(said_by(ALICE, 0, "paid"), topics=PAID, limits=LIMITS, now_ms=0),
        lambda: group.initialized([SharePartitionKey(ORDERS, TOPIC, number) for number in (0, 1)]),
        lambda: group.answer(said_by(ALICE, 0, "paid"), limits=LIMITS, now_ms=0),
        lambda: group.admit(replace(said_by(ALICE, 1), rack_id="b"), topics=PAID, limits=LIMITS, now_ms=0),
        lambda: group.delete_topics([TOPIC]),
        lambda: group.topics_deleted([TOPIC]),
        lambda: group.remove(ALICE, 0),
    ):
        step()
        seen.add((group.revision, repr(group.image())))

    # Then
    assert len(seen) == 8
    assert len({revision for revision, _ in seen}) == 8


def test_a_restored_group_answers_the_old_epoch_as_if_nothing_had_happened() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    before = group.image()

    # When
    after = restored(group, now_ms=60_000)
    answer = serve(after, said_by(ALICE, 1), now_ms=60_000)

    # Then
    assert (answer.member_epoch, answer.assignment) == (1, None)
    assert after.image() == before
    assert not after.has_undurable_changes


def test_a_restored_member_may_be_silent_for_a_whole_session() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"), now_ms=1_000)

    # When
    after = restored(group, now_ms=60_000)

    # Then
    assert after.members[ALICE].session_deadline_ms == 60_000 + LIMITS.session_timeout_ms


def test_a_restored_group_hands_a_new_member_its_share() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))

    # When
    after = restored(group)
    answer = serve(after, said_by(BOB, 0, "paid"))

    # Then
    assert assigned(answer) == [("paid", (1,))]
    assert assigned(serve(after, said_by(ALICE, 1, "paid"))) == [("paid", (0,))]


def test_what_was_initializing_is_initialized_again_by_the_next_heartbeat_and_assigned() -> None:
    # Given
    group = ShareGroup(ORDERS)
    group.admit(said_by(ALICE, 0, "paid"), topics=PAID, limits=LIMITS, now_ms=0)

    # When
    after = restored(group)
    answer = serve(after, said_by(ALICE, 0, "paid"))

    # Then
    assert assigned(answer) == [("paid", (0, 1))]
    assert answer.member_epoch == 1


def test_an_assignment_that_was_due_is_computed_after_the_restart() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    serve(group, said_by(BOB, 0, "paid"), now_ms=999)

    # When
    after = restored(group)
    answer = serve(after, said_by(BOB, 1), now_ms=999)

    # Then
    assert (answer.member_epoch, assigned(answer)) == (2, [("paid", (1,))])


def test_a_topic_that_was_gone_before_the_restart_raises_no_epoch_after_it() -> None:
    # Given
    group = ShareGroup(ORDERS)
    serve(group, said_by(ALICE, 0, "paid"))
    gone: Mapping[str, TopicPartitions | None] = {"paid": None}
    serve(group, said_by(ALICE, 1), topics=gone, now_ms=2_000)

    # When
    after = restored(group)
    answer = serve(after, said_by(ALICE, 2), topics=gone)

    # Then
    assert (answer.member_epoch, after.group_epoch) == (2, 2)


# ---- forgetting and restoring


def test_a_group_that_is_forgotten_is_not_there_until_it_is_restored() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined(coordinator)
    group = coordinator.find(ORDERS)
    assert group is not None
    image = group.image()

    # When
    coordinator.forget(ORDERS)
    while_forgotten = coordinator.group_ids
    coordinator.restore(image, limits=LIMITS, now_ms=5_000)

    # Then
    assert while_forgotten == ()
    assert coordinator.group_ids == (ORDERS,)
    assert coordinator.next_deadline_ms() is not None


def test_sessions_of_a_forgotten_group_do_not_expire() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined(coordinator)

    # When
    coordinator.forget(ORDERS)

    # Then
    assert coordinator.expire_sessions(10_000_000) == ()


def test_a_restored_member_that_stays_silent_expires() -> None:
    # Given
    coordinator = GroupCoordinator()
    joined(coordinator)
    group = coordinator.find(ORDERS)
    assert group is not None
    coordinator.restore(group.image(), limits=LIMITS, now_ms=5_000)

    # When
    expired = coordinator.expire_sessions(5_000 + LIMITS.session_timeout_ms)

    # Then
    assert [member.member_id for member in expired] == [ALICE]
