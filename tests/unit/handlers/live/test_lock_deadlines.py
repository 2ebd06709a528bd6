"""Ends of locks in order: the earliest that was noted counts, each share-partition is due once."""

from kproxy.handlers.live.lock_deadlines import LockDeadlines
from tests.worlds.share_group_world import ShareGroupWorld

FIRST, SECOND, THIRD = (ShareGroupWorld.key(partition=partition) for partition in range(3))


def test_what_is_due_is_told_once_in_the_order_of_the_ends() -> None:
    # Given
    deadlines = LockDeadlines()
    for key, deadline_ms in ((SECOND, 200), (THIRD, 300), (FIRST, 100)):
        deadlines.note(key, deadline_ms)

    # When
    due = [deadlines.take_due(200) for _ in range(3)]

    # Then
    assert due == [FIRST, SECOND, None]
    assert deadlines.next_ms() == 300


def test_the_earliest_end_that_was_noted_counts() -> None:
    # Given
    deadlines = LockDeadlines()

    # When
    are_earlier = [deadlines.note(FIRST, deadline_ms) for deadline_ms in (200, 300, 200, 100)]

    # Then
    assert are_earlier == [True, False, False, True]
    assert deadlines.next_ms() == 100
    assert deadlines.take_due(1_000) == FIRST


def test_a_share_partition_that_is_forgotten_is_never_due() -> None:
    # Given
    deadlines = LockDeadlines()
    deadlines.note(FIRST, 100)

    # When
    deadlines.forget(FIRST)

    # Then
    assert deadlines.next_ms() is None
    assert deadlines.take_due(1_000) is None


def test_ends_that_are_void_do_not_pile_up() -> None:
    # Given
    deadlines = LockDeadlines()

    # When
    for deadline_ms in range(1_000):
        deadlines.note(FIRST, deadline_ms)
        deadlines.forget(FIRST)
    deadlines.note(FIRST, 2_000)

    # Then
    assert len(deadlines._heap) <= 65
    assert deadlines.next_ms() == 2_000


def test_one_is_taken_at_a_time_and_the_others_stay_due() -> None:
    # Given
    deadlines = LockDeadlines()
    for key, deadline_ms in ((SECOND, 150), (FIRST, 100)):
        deadlines.note(key, deadline_ms)

    # When
    due = deadlines.take_due(200)

    # Then
    assert due == FIRST
    assert deadlines.next_ms() == 150
    assert deadlines.take_due(200) == SECOND
