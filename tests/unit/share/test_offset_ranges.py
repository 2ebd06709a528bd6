"""Runs of equal offsets; `tests/models/test_offset_ranges_model.py` says the rest."""

import pytest

from kproxy.share.identifiers import MemberId
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.record_state import RecordState

LOCK = AcquisitionLock(MemberId("alice"), deadline_ms=100)


def available(first_offset: int, last_offset: int, delivery_count: int = 1) -> InFlightRange:
    return InFlightRange(first_offset, last_offset, RecordState.AVAILABLE, delivery_count, None)


def acquired(first_offset: int, last_offset: int, lock: AcquisitionLock = LOCK) -> InFlightRange:
    return InFlightRange(first_offset, last_offset, RecordState.ACQUIRED, 1, lock)


def accepted(first_offset: int, last_offset: int) -> InFlightRange:
    return InFlightRange(first_offset, last_offset, RecordState.ACKNOWLEDGED, 1, None)


def test_a_change_in_the_middle_leaves_three_runs() -> None:
    # Given
    ranges = OffsetRanges(0)
    ranges.append(acquired(0, 9))

    # When
    ranges.replace([accepted(3, 5)])

    # Then
    assert list(ranges) == [acquired(0, 2), accepted(3, 5), acquired(6, 9)]


def test_a_change_that_closes_a_gap_joins_both_neighbours() -> None:
    # Given
    ranges = OffsetRanges(0)
    ranges.append(accepted(0, 2))
    ranges.append(acquired(3, 5))
    ranges.append(accepted(6, 9))

    # When
    ranges.replace([accepted(3, 5)])

    # Then
    assert list(ranges) == [accepted(0, 9)]


def test_what_is_acquired_under_two_locks_stays_apart() -> None:
    # Given
    ranges = OffsetRanges(0)
    ranges.append(acquired(0, 2))

    # When
    ranges.append(acquired(3, 5, AcquisitionLock(MemberId("alice"), deadline_ms=100)))

    # Then
    assert len(ranges) == 2


def test_runs_with_a_gap_between_them_are_not_joined() -> None:
    assert joined([accepted(0, 2), accepted(4, 5)]) == [accepted(0, 2), accepted(4, 5)]


def test_the_terminal_prefix_is_dropped_up_to_the_first_offset_in_play() -> None:
    # Given
    ranges = OffsetRanges(0)
    ranges.append(accepted(0, 4))
    ranges.append(InFlightRange(5, 6, RecordState.ARCHIVED, 5, None))
    ranges.append(available(7, 9))

    # When
    ranges.drop_terminal_prefix()

    # Then
    assert list(ranges) == [available(7, 9)]
    assert (ranges.start_offset, ranges.terminal_count) == (7, 0)


@pytest.mark.parametrize("offset", [0, 4, 10])
def test_the_window_can_begin_anywhere_up_to_its_end(offset: int) -> None:
    # Given
    ranges = OffsetRanges(0)
    ranges.append(available(0, 9))

    # When
    ranges.drop_below(offset)

    # Then
    assert (ranges.start_offset, ranges.end_offset) == (offset, 10)
    assert ranges.available_count == 10 - offset


def test_a_hole_is_archived_without_ever_being_delivered() -> None:
    assert InFlightRange(0, 9, RecordState.ARCHIVED, 0, None).is_hole
    assert not InFlightRange(0, 9, RecordState.ARCHIVED, 1, None).is_hole
    assert not available(0, 9, delivery_count=0).is_hole


def test_a_lock_covers_all_that_is_put_under_it() -> None:
    # Given
    lock = AcquisitionLock(MemberId("alice"), deadline_ms=100)

    # When
    lock.cover(5, 9)
    lock.cover(12, 14)

    # Then
    assert (lock.first_offset, lock.last_offset) == (5, 14)


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_window_may_begin_again_further_down(*, is_empty: bool) -> None:
    # Given
    ranges = OffsetRanges(10)
    if not is_empty:
        ranges.append(InFlightRange(10, 14, RecordState.ARCHIVED, 0, None))

    # When
    ranges.prepend([InFlightRange(5, 9, RecordState.ARCHIVED, 0, None)])

    # Then
    assert (ranges.start_offset, ranges.end_offset) == (5, 10 if is_empty else 15)
    assert len(ranges) == 1
    assert ranges.terminal_count == ranges.end_offset - 5
