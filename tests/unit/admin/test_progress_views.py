"""How far a share group is: windows of live and of durable share-partitions, and Kafka's lag."""

import pytest

from kproxy.admin.progress_views import (
    SharePartitionProgress,
    SharePartitionWindow,
    backlog_question,
    durable_window,
    live_window,
    progress_view,
    unknown_window,
)
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.wire.record_times import RecordTime
from tests.in_memory.inspectable import ORDERS, ORDERS_TEXT, acquire

KEY = SharePartitionKey(GroupId("workers"), ORDERS, 3)
NOW_MS = 1_000_000


def durable(start_offset: int, complete_count: int, *batches: StateBatch) -> DurableShareState:
    return DurableShareState(
        StateEpoch(0), LeaderEpoch(0), SnapshotEpoch(0), start_offset, complete_count, batches
    )


def available(first_offset: int, last_offset: int) -> StateBatch:
    return StateBatch(first_offset, last_offset, RecordState.AVAILABLE, 1)


def accepted(first_offset: int, last_offset: int) -> StateBatch:
    return StateBatch(first_offset, last_offset, RecordState.ACKNOWLEDGED, 1)


def progress(window: SharePartitionWindow, backlog: Backlog) -> SharePartitionProgress:
    return progress_view(window, backlog, NOW_MS)


def a_window(start_offset: int | None = 0, complete_count: int | None = 0) -> SharePartitionWindow:
    return SharePartitionWindow(
        KEY,
        "orders",
        is_live=True,
        start_offset=start_offset,
        end_offset=start_offset,
        delivery_complete_count=complete_count,
    )


def test_a_sole_consumer_that_hangs_on_the_first_record_has_everything_before_it() -> None:
    # Given
    share_partition = SharePartition(KEY, start_offset=0, state_batches=(), limits=ShareLimits())
    acquire(share_partition, "alice", 0, 0)
    backlog = Backlog(5000, RecordTime(NOW_MS - 90_000, is_exact=True))

    # When
    view = progress(live_window(share_partition, "orders"), backlog)

    # Then
    assert view == SharePartitionProgress(
        topic_id=ORDERS_TEXT,
        topic_name="orders",
        partition=3,
        is_live=True,
        start_offset=0,
        end_offset=0,
        in_flight_count=1,
        in_flight_limit=2_000,
        in_flight_limit_at_growth=2_000,
        delivery_complete_count=0,
        log_end_offset=5000,
        lag=5000,
        oldest_age_ms=90_000,
        is_oldest_age_exact=True,
        reason="",
    )


@pytest.mark.parametrize(
    ("start_offset", "complete_count", "end_offset", "lag"),
    [
        (0, 0, 0, 0),
        (10, 3, 100, 87),
        (100, 0, 100, 0),
        (100, 0, 90, 0),
        (None, None, 5, None),
        (0, None, 5, None),
    ],
)
def test_the_lag_is_what_is_not_done_with_from_the_start_offset_to_the_end(
    start_offset: int | None, complete_count: int | None, end_offset: int, lag: int | None
) -> None:
    """KIP-1226; a log that ends below the start offset was truncated."""
    assert progress(a_window(start_offset, complete_count), Backlog(end_offset)).lag == lag


def test_without_an_end_there_is_no_lag() -> None:
    view = progress(a_window(), Backlog(None, None, "the brokers did not answer within 3 s"))
    assert (view.log_end_offset, view.lag, view.oldest_age_ms) == (None, None, None)
    assert view.reason == "the brokers did not answer within 3 s"


def test_an_age_that_is_a_lower_bound_is_told_as_one() -> None:
    view = progress(a_window(), Backlog(5, RecordTime(NOW_MS - 10, is_exact=False)))
    assert (view.oldest_age_ms, view.is_oldest_age_exact) == (10, False)


def test_a_record_from_the_future_has_no_negative_age() -> None:
    assert progress(a_window(), Backlog(5, RecordTime(NOW_MS + 10, is_exact=True))).oldest_age_ms == 0


def test_what_nobody_fetches_is_told_by_its_durable_state() -> None:
    # When
    window = durable_window(KEY, durable(100, 3, available(100, 101), accepted(104, 106)), "orders")

    # Then
    assert window == SharePartitionWindow(
        KEY,
        "orders",
        is_live=False,
        start_offset=100,
        end_offset=106,
        in_flight_count=7,
        delivery_complete_count=3,
    )


def test_what_is_done_with_at_the_start_of_a_durable_state_is_passed_and_the_lag_stays() -> None:
    # Given
    state = durable(100, 8, accepted(100, 104), accepted(105, 105), available(106, 107), accepted(108, 109))

    # When
    window = durable_window(KEY, state, "orders")

    # Then
    assert (window.start_offset, window.delivery_complete_count, window.in_flight_count) == (106, 2, 4)
    assert progress(window, Backlog(200)).lag == 200 - 100 - 8


def test_a_durable_state_and_the_share_partition_built_from_it_show_the_same() -> None:
    # Given
    state = durable(100, 8, accepted(100, 105), available(106, 107), accepted(108, 109))
    loaded = SharePartition(KEY, start_offset=100, state_batches=state.state_batches, limits=ShareLimits())

    # When
    live, stored = live_window(loaded, "orders"), durable_window(KEY, state, "orders")

    # Then
    for name in ("start_offset", "end_offset", "in_flight_count", "delivery_complete_count"):
        assert getattr(live, name) == getattr(stored, name)


def test_a_durable_state_without_anything_in_flight_ends_where_it_begins() -> None:
    window = durable_window(KEY, durable(100, 0), "orders")
    assert (window.start_offset, window.end_offset, window.in_flight_count) == (100, 100, 0)


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (None, "there is no durable state of it"),
        (
            durable(-1, -1),
            "no start offset is written down yet: share.auto.offset.reset says where the first fetch begins",
        ),
    ],
)
def test_without_a_start_offset_nothing_but_the_end_is_known(
    state: DurableShareState | None, reason: str
) -> None:
    view = progress(durable_window(KEY, state, "orders"), Backlog(5))
    assert (view.start_offset, view.lag, view.log_end_offset, view.reason) == (None, None, 5, reason)


def test_a_state_whose_start_offset_was_merely_chosen_has_nothing_to_count() -> None:
    view = progress(durable_window(KEY, durable(3, -1), "orders"), Backlog(5))
    assert (view.start_offset, view.lag, view.reason) == (3, 2, "")


def test_a_state_that_counts_nothing_has_a_start_offset_and_no_lag() -> None:
    view = progress(durable_window(KEY, durable(3, -1, available(3, 4)), "orders"), Backlog(5))
    assert (view.start_offset, view.lag) == (3, None)
    assert view.reason == "the durable state does not count the records done with"


def test_both_reasons_are_told() -> None:
    view = progress(unknown_window(KEY, None, "slot 3 is loading"), Backlog(None, None, "nobody answers"))
    assert view.reason == "slot 3 is loading; nobody answers"


def test_the_brokers_are_asked_about_the_first_record_that_is_not_done_with() -> None:
    assert backlog_question(a_window(7)) == BacklogQuestion(ORDERS, "orders", 3, 7)
