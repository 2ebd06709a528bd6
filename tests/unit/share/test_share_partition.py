"""The life of a share-partition: locks, delivery counts, a log that loses its head, loading and fencing."""

from collections.abc import Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import SharePartitionFenced, UnusableShareState
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_partition_view import InFlightRangeView, SharePartitionView
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from tests.worlds.share_builders import (
    ACCEPT,
    ALICE,
    BOB,
    KEY,
    RELEASE,
    a_share_partition,
    deliver_and_release,
    fetch,
    in_flight,
    say,
)


def test_a_new_share_partition_reads_from_its_start_offset() -> None:
    # When
    share_partition = a_share_partition(start_offset=42)

    # Then
    assert share_partition.next_fetch_offset() == 42
    assert share_partition.can_acquire()
    assert share_partition.next_deadline_ms() is None
    assert (share_partition.start_offset, share_partition.last_offset) == (42, 42)
    assert share_partition.in_flight_count == 0


def test_a_record_whose_lock_runs_out_is_available_again_and_that_is_durable() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=1_000)
    too_early = share_partition.expire_locks(30_999)

    # When
    delta = share_partition.expire_locks(31_000)

    # Then
    assert too_early is NO_CHANGE
    assert delta == StateDelta(0, 0, (StateBatch(0, 9, RecordState.AVAILABLE, 1),))
    assert share_partition.available_count == 10


def test_part_of_what_was_acquired_keeps_the_deadline_of_the_whole() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=1_000)
    share_partition.acknowledge(ALICE, say(3, 5, ACCEPT), now_ms=20_000)

    # When
    delta = share_partition.expire_locks(31_000)

    # Then
    assert delta.batches == (
        StateBatch(0, 2, RecordState.AVAILABLE, 1),
        StateBatch(6, 9, RecordState.AVAILABLE, 1),
    )


def test_a_changed_lock_duration_spares_the_locks_already_taken() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=0)
    share_partition.limits = ShareLimits(record_lock_duration_ms=15_000)
    fetch(share_partition, ALICE, (10, 19), now_ms=0)

    # When
    deadline_ms = share_partition.next_deadline_ms()
    delta = share_partition.expire_locks(15_000)

    # Then
    assert deadline_ms == 15_000
    assert [(batch.first_offset, batch.last_offset) for batch in delta.batches] == [(10, 19)]
    assert share_partition.next_deadline_ms() == 30_000


def test_locks_that_end_together_are_found_whatever_the_order_of_their_deadlines() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=0)
    share_partition.limits = ShareLimits(record_lock_duration_ms=15_000)
    fetch(share_partition, BOB, (10, 19), now_ms=0)

    # When
    delta = share_partition.expire_locks(30_000)

    # Then
    assert delta.batches == (StateBatch(0, 19, RecordState.AVAILABLE, 1),)


def test_a_record_that_is_never_acknowledged_is_delivered_five_times_and_archived() -> None:
    # Given
    share_partition = a_share_partition()
    counts = []
    written: list[StateBatch] = []

    # When
    for attempt in range(5):
        acquired = fetch(share_partition, ALICE, (0, 0), now_ms=attempt * 30_000)
        counts.append(acquired[0].delivery_count)
        written += share_partition.expire_locks((attempt + 1) * 30_000).batches

    # Then
    assert counts == [1, 2, 3, 4, 5]
    assert written == [
        StateBatch(0, 0, RecordState.AVAILABLE, 1),
        StateBatch(0, 0, RecordState.AVAILABLE, 2),
        StateBatch(0, 0, RecordState.AVAILABLE, 3),
        StateBatch(0, 0, RecordState.AVAILABLE, 4),
        StateBatch(0, 0, RecordState.ARCHIVED, 5),
    ]
    assert share_partition.start_offset == 1
    assert share_partition.next_fetch_offset() == 1


def test_closing_a_session_counts_as_an_attempt_and_frees_only_that_member() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))
    fetch(share_partition, BOB, (5, 9))

    # When
    delta = share_partition.release(ALICE)

    # Then
    assert delta == StateDelta(0, 0, (StateBatch(0, 4, RecordState.AVAILABLE, 1),))
    assert fetch(share_partition, BOB, (0, 4)) == [AcquiredRange(0, 4, 2)]


def test_a_member_without_records_releases_nothing() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 4))

    # When
    delta = share_partition.release(BOB)

    # Then
    assert delta is NO_CHANGE


def test_a_lowered_limit_leaves_one_more_attempt() -> None:
    """Four failures of five are too many for the new limit of three: delivered once more, then archived."""
    # Given
    share_partition = a_share_partition()
    deliver_and_release(share_partition, (0, 0), times=4)
    share_partition.limits = ShareLimits(delivery_count_limit=3)

    # When
    acquired = fetch(share_partition, ALICE, (0, 0))
    share_partition.release(ALICE)

    # Then
    assert acquired == [AcquiredRange(0, 0, 5)]
    assert share_partition.start_offset == 1


def test_a_read_from_before_a_reload_gives_nothing_when_it_is_too_far_ahead() -> None:
    """The share-partition was built again from durable state, which ends before the offset that was read."""
    # Given
    share_partition = a_share_partition()

    # When
    acquired = share_partition.acquire(
        ALICE,
        [(50, 59)],
        fetch_offset=50,
        max_records=500,
        batch_size=500,
        is_record_limit=False,
        now_ms=0,
    )

    # Then
    assert acquired == []
    assert share_partition.next_fetch_offset() == 0


@pytest.mark.parametrize("max_records", [0, -1])
def test_a_fetch_that_wants_no_records_gets_none(max_records: int) -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE, (0, 9), max_records=max_records)

    # Then
    assert acquired == []


def test_an_empty_read_acquires_nothing() -> None:
    # Given
    share_partition = a_share_partition()

    # When
    acquired = fetch(share_partition, ALICE)

    # Then
    assert acquired == []
    assert share_partition.next_deadline_ms() is None


def test_a_log_start_past_the_start_offset_moves_it_and_forgets_what_lay_below() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    share_partition.acknowledge(ALICE, say(4, 6, ACCEPT), now_ms=1)

    # When
    delta = share_partition.move_start(4)

    # Then
    assert delta == StateDelta(4, 3, ())
    assert in_flight(share_partition) == [(7, 9, "ACQUIRED", 1)]


def test_a_hole_of_more_offsets_than_the_count_can_say_is_counted_as_the_most_it_can() -> None:
    """DeliveryCompleteCount is an int32 in the log; a record that does not fit could never be written."""
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))
    hole_end = 3 * 2**31
    fetch(share_partition, ALICE, (hole_end, hole_end + 9))

    # When
    delta = share_partition.acknowledge(ALICE, say(hole_end, hole_end + 9, ACCEPT), now_ms=0)

    # Then
    assert (delta.start_offset, delta.delivery_complete_count) == (0, 2**31 - 1)


def test_a_log_start_past_the_whole_window_empties_it() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9))

    # When
    delta = share_partition.move_start(100)
    expired = share_partition.expire_locks(30_000)

    # Then
    assert delta == StateDelta(100, 0, ())
    assert share_partition.next_fetch_offset() == 100
    assert expired is NO_CHANGE


def test_a_log_start_that_is_behind_changes_nothing() -> None:
    # Given
    share_partition = a_share_partition(start_offset=5)

    # When
    delta = share_partition.move_start(5)

    # Then
    assert delta is NO_CHANGE


@pytest.mark.parametrize("archived", [RecordState.ARCHIVED, RecordState.ARCHIVING])
def test_loading_passes_what_is_done_and_delivers_the_rest_with_its_count(archived: RecordState) -> None:
    """Kafka 4.4 archives what is ARCHIVING even if no dead letter can be written; 4.3.1 would stand still there."""
    # When
    share_partition = a_share_partition(
        start_offset=10,
        state_batches=[
            StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1),
            StateBatch(15, 16, archived, 5),
            StateBatch(17, 18, RecordState.AVAILABLE, 2),
            StateBatch(19, 19, archived, 1),
        ],
    )

    # Then
    assert share_partition.start_offset == 17
    assert share_partition.last_offset == 19
    assert share_partition.delivery_complete_count == 1
    assert fetch(share_partition, ALICE, (17, 19)) == [AcquiredRange(17, 18, 3)]


def test_loading_delivers_what_lies_between_the_batches_for_the_first_time() -> None:
    # Given
    share_partition = a_share_partition(
        start_offset=10, state_batches=[StateBatch(15, 19, RecordState.ACKNOWLEDGED, 1)]
    )

    # When
    acquired = fetch(share_partition, ALICE, (10, 19), (20, 24))

    # Then
    assert acquired == [AcquiredRange(10, 14, 1), AcquiredRange(20, 24, 1)]


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([StateBatch(9, 12, RecordState.AVAILABLE, 1)], id="below the start offset"),
        pytest.param([StateBatch(12, 11, RecordState.AVAILABLE, 1)], id="reversed"),
        pytest.param([StateBatch(10, 11, RecordState.ACQUIRED, 1)], id="acquired"),
        pytest.param(
            [StateBatch(10, 12, RecordState.AVAILABLE, 1), StateBatch(12, 14, RecordState.ARCHIVED, 1)],
            id="overlapping",
        ),
    ],
)
def test_durable_state_that_cannot_be_is_refused(batches: list[StateBatch]) -> None:
    # When
    with pytest.raises(UnusableShareState) as refusal:
        a_share_partition(start_offset=10, state_batches=batches)

    # Then
    assert refusal.value.error_code is ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda partition: fetch(partition, ALICE, (0, 9)), id="next_fetch_offset"),
        pytest.param(
            lambda partition: partition.acquire(
                ALICE,
                [(0, 9)],
                fetch_offset=0,
                max_records=1,
                batch_size=1,
                is_record_limit=False,
                now_ms=0,
            ),
            id="acquire",
        ),
        pytest.param(lambda partition: partition.can_acquire(), id="can_acquire"),
        pytest.param(lambda partition: partition.next_deadline_ms(), id="next_deadline_ms"),
        pytest.param(lambda partition: partition.acknowledge(ALICE, [], now_ms=0), id="acknowledge"),
        pytest.param(lambda partition: partition.release(ALICE), id="release"),
        pytest.param(lambda partition: partition.expire_locks(0), id="expire_locks"),
        pytest.param(lambda partition: partition.move_start(5), id="move_start"),
    ],
)
def test_a_discarded_share_partition_refuses_every_call(call: Callable[[SharePartition], object]) -> None:
    # Given
    share_partition = a_share_partition()
    share_partition.fence()

    # When
    with pytest.raises(SharePartitionFenced) as refusal:
        call(share_partition)

    # Then
    assert refusal.value.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert share_partition.is_fenced


def test_locks_of_records_long_done_with_are_forgotten() -> None:
    """A consumer that keeps up leaves no trail of deadlines behind."""
    # Given
    share_partition = a_share_partition()

    # When
    for first in range(0, 1_000, 10):
        fetch(share_partition, ALICE, (first, first + 9), now_ms=first)
        if first:
            share_partition.acknowledge(ALICE, say(first - 10, first - 1, ACCEPT), now_ms=first)

    # Then
    assert len(share_partition._locks) <= 2
    share_partition.acknowledge(ALICE, say(990, 999, ACCEPT), now_ms=1_000)
    assert share_partition.next_deadline_ms() is None


def test_a_view_shows_who_holds_what_until_when() -> None:
    # Given
    share_partition = a_share_partition()
    fetch(share_partition, ALICE, (0, 9), now_ms=500)
    share_partition.acknowledge(ALICE, say(2, 9, RELEASE), now_ms=600)

    # When
    view = share_partition.view()

    # Then
    assert view == SharePartitionView(
        key=KEY,
        start_offset=0,
        last_offset=9,
        in_flight_count=10,
        delivery_complete_count=0,
        ranges=(
            InFlightRangeView(0, 1, RecordState.ACQUIRED, 1, ALICE, 30_500, 30_000),
            InFlightRangeView(2, 9, RecordState.AVAILABLE, 1, None, None),
        ),
    )
