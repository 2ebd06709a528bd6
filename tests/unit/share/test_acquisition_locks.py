import pytest

from kproxy.errors import InvalidRecordState
from kproxy.share.acquisition_locks import AcquisitionLocks
from kproxy.share.offset_ranges import AcquisitionLock
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import ACCEPT, ALICE, RENEW, a_share_partition, fetch, say


def a_lock(deadline_ms: int, *, first_offset: int = 0, last_offset: int = 9) -> AcquisitionLock:
    lock = AcquisitionLock(ALICE, deadline_ms)
    lock.cover(first_offset, last_offset)
    return lock


def locks_of(*locks: AcquisitionLock) -> AcquisitionLocks:
    kept = AcquisitionLocks()
    for lock in locks:
        kept.add(lock)
    return kept


def test_without_a_lock_there_is_no_deadline() -> None:
    assert AcquisitionLocks().first_deadline_ms is None


def test_locks_end_in_order_of_time_whatever_order_they_came_in() -> None:
    # Given
    late, early, at_once = a_lock(300), a_lock(100), a_lock(200)
    locks = locks_of(late, early, at_once)

    # When
    ended = locks.take_ended(200)

    # Then
    assert ended == [early, at_once]
    assert (locks.first_deadline_ms, len(locks)) == (300, 1)


def test_a_question_for_the_first_deadline_changes_nothing() -> None:
    # Given
    locks = locks_of(a_lock(100))

    # When
    asked = [locks.first_deadline_ms for _ in range(2)]

    # Then
    assert asked == [100, 100]


def test_the_oldest_locks_are_forgotten_as_long_as_all_their_records_are_done_with() -> None:
    # Given
    locks = locks_of(
        a_lock(100, last_offset=9), a_lock(200, first_offset=10, last_offset=19), a_lock(300, last_offset=5)
    )

    # When
    locks.drop_below(10)

    # Then
    assert (locks.first_deadline_ms, len(locks)) == (200, 2)


def test_what_was_renewed_before_a_refusal_stays_renewed_as_at_a_broker() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(6, 6, ACCEPT), now_ms=1)

    # When
    with pytest.raises(InvalidRecordState):
        share_partition.acknowledge(ALICE, say(0, 1, ACCEPT) + say(4, 7, RENEW), now_ms=24_000)

    # Then
    assert share_partition.expire_locks(30_000).batches == (
        StateBatch(0, 3, RecordState.AVAILABLE, 1),
        StateBatch(7, 9, RecordState.AVAILABLE, 1),
    )
    assert share_partition.expire_locks(54_000).batches == (StateBatch(4, 5, RecordState.AVAILABLE, 1),)
