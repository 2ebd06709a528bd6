"""What a group that reads committed records is not given."""

import pytest

from kproxy.errors import InvalidRecordState
from kproxy.share.aborted_records import without_aborted
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch, StateDelta
from tests.worlds.share_builders import ACCEPT, ALICE, BOB, a_share_partition, fetch, in_flight, say


def test_aborted_batches_are_archived_at_once_and_cut_from_what_is_acquired() -> None:
    """Case 66 of the comparison with a stock broker: the marker at 10 stays acquired, clients say GAP of it."""
    share_partition = a_share_partition()
    acquired = fetch(share_partition, ALICE, (0, 4), (5, 9), (10, 10), (11, 14), aborted=[(5, 9)])
    assert acquired == [AcquiredRange(0, 4, 1), AcquiredRange(10, 14, 1)]
    assert in_flight(share_partition) == [
        (0, 4, "ACQUIRED", 1),
        (5, 9, "ARCHIVED", 1),
        (10, 14, "ACQUIRED", 1),
    ]


def test_where_everything_was_aborted_nothing_is_acquired_and_reading_goes_on_behind_it() -> None:
    share_partition = a_share_partition()
    assert fetch(share_partition, ALICE, (0, 4), (5, 9), aborted=[(0, 4), (5, 9)]) == []
    assert share_partition.next_fetch_offset() == 10
    assert share_partition.next_deadline_ms() is None


def test_the_next_write_counts_aborted_records_as_done_with_and_the_start_offset_passes_them() -> None:
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4), (5, 9), aborted=[(0, 4)])
    assert share_partition.start_offset == 0
    delta = share_partition.acknowledge(ALICE, say(5, 9, ACCEPT), now_ms=0)
    assert delta == StateDelta(0, 10, (StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1),))
    assert share_partition.start_offset == 10


def test_a_window_full_of_aborted_records_does_not_stand_still() -> None:
    """Nobody holds anything of it, so no acknowledgement would ever let the start offset pass."""
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=10))
    fetch(share_partition, ALICE, (0, 9), aborted=[(0, 9)])
    assert share_partition.can_acquire()
    assert fetch(share_partition, ALICE, (10, 14)) == [AcquiredRange(10, 14, 1)]


def test_a_window_of_aborted_records_that_a_lowered_limit_makes_full_does_not_stand_still() -> None:
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=20))
    fetch(share_partition, ALICE, (0, 9), aborted=[(0, 9)])
    share_partition.limits = ShareLimits(partition_max_record_locks=5)
    assert share_partition.can_acquire()
    assert fetch(share_partition, ALICE, (10, 14)) == [AcquiredRange(10, 14, 1)]


def test_a_record_released_before_the_group_reads_committed_records_is_judged_anew() -> None:
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4), (5, 9))
    share_partition.release(ALICE)
    assert fetch(share_partition, BOB, (0, 4), (5, 9), aborted=[(5, 9)]) == [AcquiredRange(0, 4, 2)]
    assert in_flight(share_partition)[1] == (5, 9, "ARCHIVED", 2)


def test_what_another_member_holds_of_an_aborted_batch_is_archived_with_it() -> None:
    """It was acquired before the group began to read committed records. As on a stock broker nobody may accept it."""
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), max_records=4, is_record_limit=True)
    fetch(share_partition, BOB, (0, 9), (10, 14), aborted=[(0, 9)])
    with pytest.raises(InvalidRecordState):
        share_partition.acknowledge(ALICE, say(0, 3, ACCEPT), now_ms=0)


def test_an_aborted_batch_that_begins_below_the_start_offset_is_archived_from_there() -> None:
    share_partition = a_share_partition(start_offset=3)
    assert fetch(share_partition, ALICE, (0, 4), (5, 9), aborted=[(0, 4)]) == [AcquiredRange(5, 9, 1)]


def test_aborted_records_whose_state_was_not_written_are_judged_anew_after_a_load() -> None:
    share_partition = a_share_partition(state_batches=[StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1)])
    assert fetch(share_partition, ALICE, (0, 4), (5, 9)) == [AcquiredRange(0, 4, 1)]


@pytest.mark.parametrize(
    ("acquired", "aborted", "left"),
    [
        ([(0, 9)], [], [(0, 9)]),
        ([(0, 9)], [(0, 9)], []),
        ([(0, 9)], [(3, 4), (6, 6)], [(0, 2), (5, 5), (7, 9)]),
        ([(0, 9)], [(0, 2), (8, 12)], [(3, 7)]),
        ([(5, 9), (10, 19), (30, 39)], [(0, 4), (8, 12), (20, 29), (30, 30)], [(5, 7), (13, 19), (31, 39)]),
        ([(5, 9), (12, 19)], [(0, 25)], []),
        ([(5, 9)], [(10, 12)], [(5, 9)]),
    ],
)
def test_what_is_left_of_ranges_without_aborted_offsets(
    acquired: list[tuple[int, int]], aborted: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    ranges = [AcquiredRange(first, last, 2) for first, last in acquired]
    assert without_aborted(ranges, aborted) == [AcquiredRange(first, last, 2) for first, last in left]
