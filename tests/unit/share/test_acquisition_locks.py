"""Records are held until a lock ends, and are held again when a change that ended it did not become durable."""

import pytest

from kproxy.errors import InvalidRecordState
from kproxy.share.acknowledgement import Acknowledgement
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.acquisition_locks import AcquisitionLocks
from kproxy.share.limits import ShareLimits
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    REJECT,
    RELEASE,
    RENEW,
    a_share_partition,
    fetch,
    in_flight,
    say,
)


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


def test_an_acknowledgement_that_is_taken_back_leaves_the_records_held_as_they_were() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4), (5, 9), batch_size=5, now_ms=7)
    before = share_partition.view()
    refused = share_partition.acknowledge(ALICE, say(0, 9, ACCEPT), now_ms=8)

    # When
    share_partition.take_back(refused)

    # Then
    assert share_partition.view() == before
    assert share_partition.next_deadline_ms() == 30_007
    share_partition.release(ALICE)
    assert fetch(share_partition, BOB, (0, 4), (5, 9)) == [AcquiredRange(0, 4, 2), AcquiredRange(5, 9, 2)]


def test_of_several_refused_changes_each_is_taken_back() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    fetch(share_partition, BOB, (5, 9))
    before = share_partition.view()
    refused = [share_partition.acknowledge(ALICE, say(0, 2, REJECT), now_ms=0), share_partition.release(BOB)]
    refused.append(share_partition.acknowledge(ALICE, say(3, 4, ACCEPT), now_ms=0))

    # When
    for delta in reversed(refused):
        share_partition.take_back(delta)

    # Then
    assert share_partition.view() == before


def test_records_that_went_from_hand_to_hand_stay_with_whoever_had_them_last() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    refused = [share_partition.acknowledge(ALICE, say(0, 4, RELEASE), now_ms=0)]
    fetch(share_partition, BOB, (0, 4))
    before = share_partition.view()
    refused.append(share_partition.acknowledge(BOB, say(0, 4, ACCEPT), now_ms=0))

    # When
    for delta in reversed(refused):
        share_partition.take_back(delta)

    # Then
    assert share_partition.view() == before


def test_no_attempt_is_forgotten_of_records_that_another_member_let_go_of_meanwhile() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4), now_ms=0)
    refused = share_partition.acknowledge(ALICE, say(0, 4, RELEASE), now_ms=0)
    fetch(share_partition, BOB, (0, 4), now_ms=1)
    share_partition.expire_locks(30_001)

    # When
    share_partition.take_back(refused)

    # Then
    assert fetch(share_partition, BOB, (0, 4)) == [AcquiredRange(0, 4, 3)]


def test_records_that_were_done_with_before_a_refused_acknowledgement_are_not_taken_for_a_hole() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(5, 9, ACCEPT), now_ms=0)
    before = share_partition.view()
    refused = share_partition.acknowledge(ALICE, say(0, 4, ACCEPT), now_ms=0)

    # When
    share_partition.take_back(refused)

    # Then
    assert share_partition.view() == before
    with pytest.raises(InvalidRecordState):
        share_partition.acknowledge(ALICE, say(5, 9, ACCEPT), now_ms=0)


def test_records_that_were_passed_by_locks_that_ended_are_not_taken_for_a_hole() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=2))
    for _ in range(2):
        fetch(share_partition, ALICE, (0, 4), now_ms=0)
        if share_partition.view().ranges[0].delivery_count < 2:
            share_partition.release(ALICE)
    fetch(share_partition, BOB, (5, 9), now_ms=10)
    refused = share_partition.acknowledge(BOB, say(5, 9, ACCEPT), now_ms=10)
    share_partition.expire_locks(30_000)

    # When
    share_partition.take_back(refused)

    # Then
    holders = [
        (run.first_offset, run.last_offset, run.state, run.member_id) for run in share_partition.view().ranges
    ]
    assert holders == [(0, 4, RecordState.ARCHIVED, None), (5, 9, RecordState.ACQUIRED, BOB)]
    with pytest.raises(InvalidRecordState):
        share_partition.acknowledge(ALICE, say(0, 4, ACCEPT), now_ms=30_001)


def test_no_lock_is_kept_of_a_change_that_is_taken_back_when_nothing_can_be_held_again() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 0))
    delta = share_partition.release(ALICE)
    fetch(share_partition, ALICE, (0, 0), aborted=[(0, 0)])

    # When
    share_partition.take_back(delta)

    # Then
    assert in_flight(share_partition) == [(0, 0, "ARCHIVED", 2)]
    assert share_partition.next_deadline_ms() is None


def test_who_gets_a_record_batch_that_was_cut_may_acknowledge_it_behind_a_refused_release() -> None:
    """Records before the cut are in flight again, so what it is told begins behind all that is in flight."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 0))
    delta = share_partition.release(ALICE)
    share_partition.move_start(6)
    share_partition.take_back(delta)

    # When
    told = fetch(share_partition, ALICE, (5, 6))
    share_partition.acknowledge(ALICE, say(told[0].first_offset, told[-1].last_offset, ACCEPT), now_ms=1)

    # Then
    assert in_flight(share_partition) == [
        (0, 0, "ACQUIRED", 1),
        (1, 5, "ARCHIVED", 1),
        (6, 6, "ACKNOWLEDGED", 1),
    ]


def test_what_another_member_acquired_meanwhile_stays_with_it() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    refused = share_partition.acknowledge(
        ALICE, say(0, 4, ACCEPT, ACCEPT, RELEASE, RELEASE, ACCEPT), now_ms=0
    )
    fetch(share_partition, BOB, (0, 4))

    # When
    share_partition.take_back(refused)

    # Then
    holders = [(run.first_offset, run.last_offset, run.member_id) for run in share_partition.view().ranges]
    assert holders == [(0, 1, ALICE), (2, 3, BOB), (4, 4, ALICE)]


def test_a_renewal_stays_when_what_came_with_it_is_taken_back() -> None:
    """A stock broker does not roll renewals back either; what is settled later is held under the renewed lock again."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 1), now_ms=0)
    first = share_partition.acknowledge(ALICE, say(0, 1, ACCEPT, RENEW), now_ms=10)
    second = share_partition.acknowledge(ALICE, say(1, 1, ACCEPT), now_ms=20)

    # When
    share_partition.take_back(first)
    share_partition.take_back(second)

    # Then
    deadlines = [(run.first_offset, run.lock_deadline_ms) for run in share_partition.view().ranges]
    assert deadlines == [(0, 30_000), (1, 30_010)]


def test_records_that_are_held_again_share_one_lock() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    for _ in range(20):
        refused = share_partition.acknowledge(
            ALICE, [batch for offset in range(9) for batch in say(offset, offset, ACCEPT)], now_ms=1
        )

        # When
        share_partition.take_back(refused)

    # Then
    assert len(share_partition._locks) <= 21


def test_locks_that_were_renewed_away_are_forgotten_long_before_they_end() -> None:
    """A member may renew as often as it likes."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=0)

    # When
    for now_ms in range(1, 1_001):
        share_partition.acknowledge(ALICE, say(5, 9, RENEW), now_ms=now_ms)

    # Then
    assert len(share_partition._locks) < 100
    assert share_partition.expire_locks(30_000).batches == (StateBatch(0, 4, RecordState.AVAILABLE, 1),)
    assert share_partition.expire_locks(30_999).batches == ()
    assert share_partition.expire_locks(31_000).batches == (StateBatch(5, 9, RecordState.AVAILABLE, 1),)


def test_a_record_that_is_renewed_over_and_over_is_put_in_place_once() -> None:
    # Given
    lock, renewal = AcquisitionLock(ALICE, 30_000), AcquisitionLock(ALICE, 60_000)
    ranges = OffsetRanges(0)
    ranges.append(InFlightRange(0, 9, RecordState.ACQUIRED, 1, lock))
    acknowledgement = Acknowledgement(ranges, renewal, limits=ShareLimits(), now_ms=0)

    # When
    acknowledgement.plan([*say(3, 5, RENEW), *say(5, 5, RENEW) * 1_000, *say(5, 5, ACCEPT)])

    # Then
    assert acknowledgement.rewrites == [
        [InFlightRange(3, 5, RecordState.ACQUIRED, 1, renewal)],
        [InFlightRange(5, 5, RecordState.ACKNOWLEDGED, 1, None)],
    ]


def test_each_lock_is_shown_with_the_duration_that_it_was_taken_or_renewed_for() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=0)
    share_partition.limits = ShareLimits(record_lock_duration_ms=15_000)
    fetch(share_partition, ALICE, (10, 19), now_ms=500)

    # When
    share_partition.acknowledge(ALICE, say(0, 4, RENEW), now_ms=2_000)

    # Then
    shown = [
        (run.first_offset, run.lock_deadline_ms, run.lock_duration_ms)
        for run in share_partition.view().ranges
    ]
    assert shown == [(0, 17_000, 15_000), (5, 30_000, 30_000), (10, 15_500, 15_000)]
