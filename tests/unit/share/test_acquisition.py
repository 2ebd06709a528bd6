"""Which offsets a fetch acquires (KIP-932, KIP-1206, KAFKA-17541)."""

import pytest

from kproxy.share.acquisition import AcquiredRange, NewOffsets
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    GAP,
    REJECT,
    RELEASE,
    a_share_partition,
    deliver_and_release,
    fetch,
    in_flight,
    say,
)


def test_the_limit_on_records_is_stretched_to_the_end_of_the_record_batch() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 9), max_records=5)

    # Then
    assert acquired == [AcquiredRange(0, 9, 1)]


def test_no_record_batch_begins_after_the_limit_is_reached() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), max_records=10)

    # Then
    assert acquired == [AcquiredRange(0, 9, 1)]
    assert share_partition.next_fetch_offset() == 10


def test_a_strict_limit_leaves_the_rest_of_the_record_batch_to_another_member() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    of_alice = fetch(share_partition, ALICE, (0, 9), max_records=5, is_record_limit=True)
    of_bob = fetch(share_partition, BOB, (0, 9), max_records=500)

    # Then
    assert of_alice == [AcquiredRange(0, 4, 1)]
    assert of_bob == [AcquiredRange(5, 9, 1)]


def test_a_strict_limit_lets_the_window_grow_by_the_whole_record_batch() -> None:
    """Case 22. What is left of it is AVAILABLE and was never delivered."""
    # Given
    share_partition = a_share_partition()

    # When
    fetch(share_partition, ALICE, (0, 9), (10, 19), max_records=12, is_record_limit=True)

    # Then
    assert in_flight(share_partition) == [(0, 11, "ACQUIRED", 1), (12, 19, "AVAILABLE", 0)]
    assert (share_partition.next_fetch_offset(), share_partition.last_offset) == (12, 19)


def test_what_a_strict_limit_left_fills_the_window_until_it_is_fetched() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    fetch(share_partition, ALICE, (0, 99), max_records=1, is_record_limit=True)

    # When
    acquired = fetch(share_partition, BOB, (0, 99), (100, 109), max_records=500)

    # Then
    assert acquired == [AcquiredRange(1, 99, 1)]


def test_new_records_come_in_pieces_cut_between_record_batches() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), batch_size=10)

    # Then
    assert acquired == [AcquiredRange(0, 9, 1), AcquiredRange(10, 19, 1), AcquiredRange(20, 29, 1)]


def test_a_piece_is_at_least_as_long_as_the_batch_size_except_the_last() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), batch_size=15)

    # Then
    assert acquired == [AcquiredRange(0, 19, 1), AcquiredRange(20, 29, 1)]


def test_a_batch_size_of_zero_cuts_after_every_record_batch() -> None:
    assert NewOffsets([(0, 4), (5, 9)], 2, 9, 100).aligned(0) == [
        AcquiredRange(2, 4, 1),
        AcquiredRange(5, 9, 1),
    ]


def test_a_limit_that_ends_between_two_record_batches_stops_there() -> None:
    """What compaction took between them counts, as on a stock broker."""
    assert NewOffsets([(0, 4), (20, 24)], 0, 24, 10).aligned(500) == [AcquiredRange(0, 9, 1)]


def test_what_compaction_took_between_two_record_batches_goes_with_the_earlier_one() -> None:
    assert NewOffsets([(0, 4), (20, 24)], 0, 24, 100).aligned(5) == [
        AcquiredRange(0, 19, 1),
        AcquiredRange(20, 24, 1),
    ]


def test_new_offsets_that_end_inside_a_record_batch_are_not_passed() -> None:
    """Behind 14 lies what a loaded state says of the same record batch."""
    assert NewOffsets([(10, 30)], 10, 14, 1).aligned(500) == [AcquiredRange(10, 14, 1)]


def test_offsets_without_a_record_count_like_others() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 4), (20, 24), max_records=500)

    # Then
    assert acquired == [AcquiredRange(0, 24, 1)]


def test_two_members_never_get_the_same_record() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    of_alice = fetch(share_partition, ALICE, (0, 9), max_records=10)
    of_bob = fetch(share_partition, BOB, (0, 9), (10, 19), max_records=10)

    # Then
    assert of_alice == [AcquiredRange(0, 9, 1)]
    assert of_bob == [AcquiredRange(10, 19, 1)]


def test_the_window_is_overshot_once_rather_than_split_a_record_batch() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    fetch(share_partition, ALICE, (0, 94))

    # When
    acquired = fetch(share_partition, BOB, (95, 114), (115, 119))

    # Then
    assert acquired == [AcquiredRange(95, 114, 1)]
    assert not share_partition.can_acquire()


def test_the_limit_is_remembered_with_which_the_window_grew_last() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    before = share_partition.limit_at_growth
    fetch(share_partition, ALICE, (0, 94))
    share_partition.limits = ShareLimits(partition_max_record_locks=50)

    # When
    fetch(share_partition, BOB, (95, 114))

    # Then
    assert (before, share_partition.limit_at_growth, share_partition.in_flight_count) == (None, 100, 95)


def test_one_record_that_is_stuck_holds_up_the_whole_window() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    fetch(share_partition, ALICE, (0, 0), (1, 99), batch_size=1)
    share_partition.acknowledge(ALICE, say(1, 99, ACCEPT), now_ms=1)

    # When
    acquired = fetch(share_partition, BOB, (100, 109))

    # Then
    assert acquired == []
    assert share_partition.start_offset == 0


def test_a_read_that_begins_later_than_asked_archives_what_is_gone() -> None:
    """Compaction took offsets 0 to 4 while they were AVAILABLE."""
    # Given
    share_partition = a_share_partition()
    deliver_and_release(share_partition, (0, 9), times=1)

    # When
    acquired = fetch(share_partition, BOB, (5, 9))

    # Then
    assert acquired == [AcquiredRange(5, 9, 2)]
    assert share_partition.start_offset == 5


def test_what_is_held_stays_held_when_a_read_begins_later_than_asked() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(1, 1, RELEASE) + say(3, 3, RELEASE), now_ms=1)

    # When
    fetch(share_partition, BOB, (5, 9))

    # Then
    assert in_flight(share_partition) == [
        (0, 0, "ACQUIRED", 1),
        (1, 1, "ARCHIVED", 1),
        (2, 2, "ACQUIRED", 1),
        (3, 3, "ARCHIVED", 1),
        (4, 9, "ACQUIRED", 1),
    ]


def test_what_came_back_after_a_read_began_is_not_taken_for_missing() -> None:
    """Offset 2 was released after a read from offset 10 had been sent: that read says nothing about it."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(2, 2, RELEASE), now_ms=1)

    # When
    share_partition.acquire(
        BOB,
        [(12, 14)],
        fetch_offset=10,
        max_records=500,
        batch_size=500,
        is_record_limit=False,
        now_ms=1,
    )

    # Then
    assert share_partition.next_fetch_offset() == 2


def test_a_read_that_misses_only_what_is_held_archives_nothing() -> None:
    """Offset 2 was released after a read from offset 5 had been sent, which found its first record at 8."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(2, 2, RELEASE), now_ms=1)
    before = in_flight(share_partition)

    # When
    share_partition.acquire(
        BOB,
        [(8, 9)],
        fetch_offset=5,
        max_records=500,
        batch_size=500,
        is_record_limit=False,
        now_ms=1,
    )

    # Then
    assert in_flight(share_partition) == before


def test_a_hole_before_the_first_record_is_passed_at_once() -> None:
    # Given
    share_partition = a_share_partition(start_offset=3)

    # When
    acquired = fetch(share_partition, ALICE, (7, 9))

    # Then
    assert acquired == [AcquiredRange(7, 9, 1)]
    assert share_partition.start_offset == 7


def cut_behind_what_alice_holds() -> SharePartition:
    """Alice held 0 to 4, and the log was cut within the record batch behind them."""
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    share_partition.move_start(7)
    return share_partition


def test_a_record_batch_that_was_cut_behind_records_in_flight_is_acquired_whole() -> None:
    """Seen with Kafka 4.3.1: case 101 of the comparison."""
    # Given
    share_partition = cut_behind_what_alice_holds()

    # When
    acquired = fetch(share_partition, BOB, (5, 9), (10, 14))

    # Then
    assert acquired == [AcquiredRange(5, 14, 1)]
    assert in_flight(share_partition) == [(7, 14, "ACQUIRED", 1)]
    assert share_partition.acknowledge(BOB, say(5, 9, ACCEPT), now_ms=0).batches == (
        StateBatch(7, 9, RecordState.ACKNOWLEDGED, 1),
    )


def test_of_a_record_batch_that_was_cut_a_strict_limit_may_take_what_is_lost() -> None:
    # Given
    share_partition = cut_behind_what_alice_holds()

    # When
    acquired = fetch(share_partition, BOB, (5, 9), max_records=1, is_record_limit=True)

    # Then
    assert acquired == [AcquiredRange(5, 5, 1)]
    assert in_flight(share_partition) == [(7, 9, "AVAILABLE", 0)]
    assert share_partition.next_deadline_ms() is None


@pytest.mark.parametrize(
    ("types", "first"), [((ACCEPT,), 7), ((RELEASE,), 5), ((ACCEPT, REJECT, GAP, RELEASE, ACCEPT), 5)]
)
def test_once_all_of_what_was_in_flight_is_done_with_the_start_offset_counts(
    types: tuple[int, ...], first: int
) -> None:
    # Given
    share_partition = cut_behind_what_alice_holds()
    share_partition.acknowledge(ALICE, say(0, 4, *types), now_ms=0)

    # When
    acquired = fetch(share_partition, BOB, (5, 9))

    # Then
    assert acquired == [AcquiredRange(first, 9, 1)]
