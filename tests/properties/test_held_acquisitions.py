"""What of an acquisition is held still: offset by offset the same as asking each of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.share.acquisition import AcquiredRange, still_held
from kproxy.share.identifiers import MemberId
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.record_state import RecordState

OWN = AcquisitionLock.taken(MemberId("alice"), 0, 30_000, node_id=1, session_number=1)
OTHER = AcquisitionLock.taken(MemberId("bob"), 0, 30_000, node_id=1, session_number=2)
KINDS = {
    "mine": (RecordState.ACQUIRED, 1, OWN),
    "mine again": (RecordState.ACQUIRED, 2, OWN),
    "another's": (RecordState.ACQUIRED, 1, OTHER),
    "available": (RecordState.AVAILABLE, 1, None),
    "done with": (RecordState.ACKNOWLEDGED, 1, None),
}


def a_window(kinds: list[str], *, start_offset: int = 0, lost_below: int = 0) -> OffsetRanges:
    """One offset for each of `kinds`; those below `lost_below` are lost."""
    ranges = OffsetRanges(start_offset)
    runs = [InFlightRange(offset, offset, *KINDS[kind]) for offset, kind in enumerate(kinds, start_offset)]
    for run in joined(runs):
        ranges.append(run)
    if lost_below > start_offset:
        ranges.drop_below(min(lost_below, ranges.end_offset))
        ranges.lost_below = lost_below
    return ranges


def is_own(lock: AcquisitionLock) -> bool:
    return lock is OWN


@given(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=10), st.integers(0, 4), st.integers(0, 12)
)
def test_held_is_each_offset_of_the_own_lock_at_the_same_count_and_each_that_is_lost(
    kinds: list[str], start_offset: int, lost_below: int
) -> None:
    # Given
    ranges = a_window(kinds, start_offset=start_offset, lost_below=lost_below)
    acquired = [AcquiredRange(1, 4, 1), AcquiredRange(5, 9, 1)]

    # When
    held = still_held(ranges, acquired, is_own)

    # Then
    is_lost = lost_below if lost_below > start_offset else 0
    expected = {
        offset
        for offset in range(1, 10)
        if offset < is_lost
        or (start_offset <= offset < start_offset + len(kinds) and kinds[offset - start_offset] == "mine")
    }
    offsets = [offset for run in held for offset in range(run.first_offset, run.last_offset + 1)]
    assert offsets == sorted(expected)
    assert {run.delivery_count for run in held} <= {1}


@pytest.mark.parametrize("lost_below", [0, 2, 5])
def test_all_of_what_is_held_is_told_as_it_was_acquired(lost_below: int) -> None:
    # Given
    ranges = a_window(["mine"] * 8, lost_below=lost_below)
    acquired = [AcquiredRange(0, 3, 1), AcquiredRange(4, 7, 1)]

    # When
    held = still_held(ranges, acquired, is_own)

    # Then
    assert held == acquired


def test_a_piece_in_the_middle_that_is_gone_leaves_two() -> None:
    # Given
    ranges = a_window(["mine", "mine", "available", "done with", "mine"])

    # When
    held = still_held(ranges, [AcquiredRange(0, 4, 1)], is_own)

    # Then
    assert held == [AcquiredRange(0, 1, 1), AcquiredRange(4, 4, 1)]
