"""Which offsets are delivered again, and how failing ones are isolated (KIP-932, KAFKA-17541)."""

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.redelivery import DeliveryBatches
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    RELEASE,
    a_share_partition,
    deliver_and_release,
    deliver_and_release_to_bob,
    fetch,
    in_flight,
    say,
)


def test_a_released_record_is_delivered_before_new_ones_with_a_higher_count() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(3, 3, RELEASE), now_ms=1)

    # When
    fetch_offset = share_partition.next_fetch_offset()
    acquired = fetch(share_partition, BOB, (0, 9), (10, 19))

    # Then
    assert fetch_offset == 3
    assert acquired == [AcquiredRange(3, 3, 2), AcquiredRange(10, 19, 1)]


def test_what_was_loaded_and_never_delivered_goes_by_record_batches_as_new_records_do() -> None:
    """Before the records that a restart finds finished lie those that nobody had: one member does not get them all."""
    # Given
    finished = StateBatch(1_500, 1_999, RecordState.ACKNOWLEDGED, 1)
    share_partition = a_share_partition(state_batches=[finished])
    read = [(first, first + 99) for first in range(0, 1_000, 100)]

    # When
    by_alice = fetch(share_partition, ALICE, *read, max_records=100, batch_size=100)
    by_bob = fetch(share_partition, BOB, *read[1:], max_records=150, batch_size=100)

    # Then
    assert by_alice == [AcquiredRange(0, 99, 1)]
    assert by_bob == [AcquiredRange(100, 199, 1), AcquiredRange(200, 299, 1)]


def test_what_was_loaded_and_never_delivered_becomes_batches_of_the_size_that_is_asked_for() -> None:
    # Given
    finished = StateBatch(40, 49, RecordState.ACKNOWLEDGED, 1)
    share_partition = a_share_partition(state_batches=[finished])
    read = [(first, first + 9) for first in range(0, 60, 10)]

    # When
    acquired = fetch(share_partition, ALICE, *read, batch_size=15)
    share_partition.release(ALICE)
    again = fetch(share_partition, BOB, *read, batch_size=500)

    # Then
    assert acquired == [AcquiredRange(0, 19, 1), AcquiredRange(20, 39, 1), AcquiredRange(50, 59, 1)]
    assert again == [AcquiredRange(0, 19, 2), AcquiredRange(20, 39, 2), AcquiredRange(50, 59, 2)]


def test_a_strict_limit_leaves_the_rest_of_a_record_batch_that_was_loaded_and_never_delivered() -> None:
    # Given
    finished = StateBatch(15, 19, RecordState.ACKNOWLEDGED, 1)
    share_partition = a_share_partition(state_batches=[finished])

    # When
    first = fetch(share_partition, ALICE, (0, 9), (10, 19), max_records=3, is_record_limit=True)
    second = fetch(share_partition, BOB, (0, 9), (10, 19), max_records=10, is_record_limit=True)

    # Then
    assert first == [AcquiredRange(0, 2, 1)]
    assert second == [AcquiredRange(3, 9, 1), AcquiredRange(10, 12, 1)]


def test_what_is_redelivered_comes_in_one_range_for_each_delivery_batch() -> None:
    """Case 33: of one batch neighbours with one count are merged, whole batches stay entries of their own."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), batch_size=10)
    share_partition.acknowledge(ALICE, say(15, 16, ACCEPT), now_ms=1)
    share_partition.release(ALICE)

    # When
    acquired = fetch(share_partition, BOB, (0, 9), (10, 19), (20, 29))

    # Then
    assert acquired == [
        AcquiredRange(0, 9, 2),
        AcquiredRange(10, 14, 2),
        AcquiredRange(17, 19, 2),
        AcquiredRange(20, 29, 2),
    ]


def test_neighbours_redelivered_with_different_counts_come_apart() -> None:
    # Given
    share_partition = a_share_partition()
    deliver_and_release(share_partition, (0, 4), times=1)
    deliver_and_release(share_partition, (0, 4), (5, 9), times=1)

    # When
    acquired = fetch(share_partition, BOB, (0, 4), (5, 9))

    # Then
    assert acquired == [AcquiredRange(0, 4, 3), AcquiredRange(5, 9, 2)]


def test_records_in_the_read_that_others_hold_are_left_out() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(2, 3, RELEASE) + say(6, 6, RELEASE), now_ms=1)

    # When
    acquired = fetch(share_partition, BOB, (0, 9))

    # Then
    assert acquired == [AcquiredRange(2, 3, 2), AcquiredRange(6, 6, 2)]


def test_the_budget_does_not_split_the_delivery_batch_in_which_it_ends() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), batch_size=10)
    share_partition.release(ALICE)

    # When
    acquired = fetch(share_partition, BOB, (0, 9), (10, 19), (20, 29), max_records=12)

    # Then
    assert acquired == [AcquiredRange(0, 9, 2), AcquiredRange(10, 19, 2)]


def test_a_strict_limit_splits_redelivered_records_too() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), (10, 19), (20, 29), batch_size=10)
    share_partition.release(ALICE)

    # When
    acquired = fetch(share_partition, BOB, (0, 9), (10, 19), (20, 29), max_records=12, is_record_limit=True)

    # Then
    assert acquired == [AcquiredRange(0, 9, 2), AcquiredRange(10, 11, 2)]
    assert share_partition.next_fetch_offset() == 12


def test_a_full_window_gives_nothing_until_a_record_comes_back() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    fetch(share_partition, ALICE, (0, 99))
    while_full = share_partition.can_acquire(), fetch(share_partition, BOB, (100, 109))

    # When
    share_partition.acknowledge(ALICE, say(42, 42, RELEASE), now_ms=1)
    acquired = fetch(share_partition, BOB, (0, 99), (100, 109))

    # Then
    assert while_full == (False, [])
    assert acquired == [AcquiredRange(42, 42, 2)]


def test_a_full_window_gives_nothing_to_a_read_from_its_end() -> None:
    """Offset 97 came back after the log was read; the next read begins there."""
    # Given
    share_partition = a_share_partition(limits=ShareLimits(partition_max_record_locks=100))
    fetch(share_partition, ALICE, (0, 99))
    share_partition.acknowledge(ALICE, say(97, 97, RELEASE), now_ms=1)

    # When
    acquired = share_partition.acquire(
        BOB,
        [(95, 104)],
        fetch_offset=100,
        max_records=500,
        batch_size=500,
        is_record_limit=False,
        now_ms=1,
    )

    # Then
    assert acquired == []
    assert share_partition.next_fetch_offset() == 97


def test_a_batch_that_failed_half_of_its_attempts_is_divided_and_then_delivered_singly() -> None:
    """Limit 5, a batch of 8: the fourth attempt takes a half, the fifth one record at a time."""
    # Given
    share_partition = a_share_partition()
    deliver_and_release(share_partition, (0, 7), times=3)

    # When
    fourth = fetch(share_partition, ALICE, (0, 7), (8, 15))
    share_partition.release(ALICE)
    fifth = fetch(share_partition, ALICE, (0, 7), (8, 15))
    sixth = fetch(share_partition, ALICE, (0, 7), (8, 15))

    # Then
    assert fourth == [AcquiredRange(0, 3, 4)]
    assert fifth == [AcquiredRange(0, 0, 5)]
    assert sixth == [AcquiredRange(1, 1, 5)]


def test_each_further_failure_halves_the_part_of_the_original_batch() -> None:
    """Kafka's own example: limit 7, a batch of 20 that failed four times gives 10, then 5, then single records."""
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=7))
    deliver_and_release(share_partition, (0, 19), times=4)

    # When
    fifth = fetch(share_partition, ALICE, (0, 19))
    share_partition.release(ALICE)
    sixth = fetch(share_partition, ALICE, (0, 19))
    share_partition.release(ALICE)
    seventh = fetch(share_partition, ALICE, (0, 19))

    # Then
    assert fifth == [AcquiredRange(0, 9, 5)]
    assert sixth == [AcquiredRange(0, 4, 6)]
    assert seventh == [AcquiredRange(0, 0, 7)]


def test_the_first_offset_that_failed_so_often_decides_how_much_is_taken() -> None:
    """Limit 7, a batch of 20: offsets 2 to 4 failed five times, those behind them four times."""
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=7))
    deliver_and_release(share_partition, (0, 19), times=3)
    fetch(share_partition, ALICE, (0, 19))
    share_partition.acknowledge(ALICE, say(0, 1, ACCEPT) + say(2, 19, RELEASE), now_ms=1)
    fetch(share_partition, ALICE, (0, 19))
    share_partition.acknowledge(ALICE, say(2, 4, RELEASE) + say(5, 11, ACCEPT), now_ms=1)

    # When
    acquired = fetch(share_partition, BOB, (0, 19))

    # Then
    assert in_flight(share_partition)[-1] == (14, 19, "AVAILABLE", 4)
    assert acquired == [AcquiredRange(2, 4, 6), AcquiredRange(12, 13, 5)]


def test_as_much_as_may_be_taken_includes_what_failed_less_often_before_it() -> None:
    """Limit 6, a batch of 16: offsets 0 to 3 failed once, the others three times."""
    # Given
    share_partition = a_share_partition_whose_end_failed_more_often(0, 3)

    # When
    acquired = fetch(share_partition, BOB, (0, 15))

    # Then
    assert acquired == [AcquiredRange(0, 3, 2), AcquiredRange(4, 7, 4)]


def test_as_much_as_may_be_taken_before_it_is_found_ends_nothing() -> None:
    """As on a stock broker, which asks whether as much was taken, and not whether more was."""
    # Given
    share_partition = a_share_partition_whose_end_failed_more_often(0, 8)

    # When
    acquired = fetch(share_partition, BOB, (0, 15), (16, 19))

    # Then
    assert acquired == [AcquiredRange(0, 8, 2), AcquiredRange(9, 15, 4)]


def a_share_partition_whose_end_failed_more_often(first_offset: int, last_offset: int) -> SharePartition:
    """Limit 6, a batch of 16: these offsets were delivered once and came back last, the others three times."""
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=6))
    fetch(share_partition, ALICE, (0, 15))
    share_partition.acknowledge(ALICE, say(last_offset + 1, 15, RELEASE), now_ms=1)
    deliver_and_release_to_bob(share_partition, (0, 15), times=2)
    share_partition.acknowledge(ALICE, say(first_offset, last_offset, RELEASE), now_ms=1)
    return share_partition


def test_only_what_was_read_of_a_batch_decides_whether_it_fails() -> None:
    """Limit 6, a batch of 16 in two record batches: the second one failed three times, and is not read."""
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=6))
    fetch(share_partition, ALICE, (0, 7), (8, 15))
    share_partition.acknowledge(ALICE, say(8, 15, RELEASE), now_ms=1)
    deliver_and_release_to_bob(share_partition, (8, 15), times=2)
    share_partition.acknowledge(ALICE, say(0, 7, RELEASE), now_ms=1)

    # When
    acquired = fetch(share_partition, BOB, (0, 7))

    # Then
    assert acquired == [AcquiredRange(0, 7, 2)]


def test_what_a_strict_limit_took_in_parts_is_halved_as_one_batch() -> None:
    """Limit 5, a record batch of 8 taken by fetches of 3: its fourth attempt takes 4 together."""
    # Given
    share_partition = a_share_partition()
    for _ in range(3):
        for _part in range(3):
            fetch(share_partition, ALICE, (0, 7), max_records=3, is_record_limit=True)
        share_partition.release(ALICE)

    # When
    acquired = fetch(share_partition, BOB, (0, 7))

    # Then
    assert acquired == [AcquiredRange(0, 3, 4)]


def test_a_failing_batch_waits_for_a_fetch_of_its_own() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, BOB, (0, 1))
    deliver_and_release(share_partition, (2, 5), times=3)
    share_partition.release(BOB)

    # When
    first = fetch(share_partition, ALICE, (0, 1), (2, 5), (6, 9))
    second = fetch(share_partition, ALICE, (2, 5), (6, 9))

    # Then
    assert first == [AcquiredRange(0, 1, 2)]
    assert second == [AcquiredRange(2, 3, 4)]


def test_a_record_before_its_last_attempt_travels_alone() -> None:
    # Given
    share_partition = a_share_partition()
    deliver_and_release(share_partition, (0, 7), times=3)
    fetch(share_partition, ALICE, (0, 7))
    share_partition.acknowledge(ALICE, say(0, 1, ACCEPT) + say(2, 3, RELEASE), now_ms=1)

    # When
    acquired = [fetch(share_partition, ALICE, (2, 7)) for _ in range(3)]

    # Then
    assert acquired == [[AcquiredRange(2, 2, 5)], [AcquiredRange(3, 3, 5)], [AcquiredRange(4, 7, 4)]]


def test_others_of_its_batch_stop_before_a_record_with_one_attempt_left() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=7))
    deliver_and_release(share_partition, (0, 19), times=4)
    fetch(share_partition, BOB, (0, 19))
    deliver_and_release(share_partition, (10, 19), times=2)
    share_partition.acknowledge(BOB, say(0, 8, ACCEPT) + say(9, 9, RELEASE), now_ms=1)

    # When
    acquired = fetch(share_partition, ALICE, (0, 19))

    # Then
    assert in_flight(share_partition)[1:] == [(10, 14, "AVAILABLE", 6), (15, 19, "AVAILABLE", 5)]
    assert acquired == [AcquiredRange(9, 9, 6)]


def test_with_a_limit_of_two_a_last_attempt_does_not_travel_alone() -> None:
    # Given
    share_partition = a_share_partition(limits=ShareLimits(delivery_count_limit=2))
    deliver_and_release(share_partition, (0, 7), times=1)

    # When
    acquired = fetch(share_partition, ALICE, (0, 7), (8, 9))

    # Then
    assert acquired == [AcquiredRange(0, 7, 2), AcquiredRange(8, 9, 1)]


def test_a_delivery_batch_reaches_to_the_next_one_or_to_the_end_of_the_window() -> None:
    # Given
    batches = DeliveryBatches()
    batches.begin(10)
    batches.begin(15)

    # When
    batches.drop_below(12, end_offset=20)

    # Then
    assert batches.extent(14, end_offset=20) == (10, 14)
    assert batches.extent(15, end_offset=20) == (15, 19)
