"""Counters of share groups: records, not requests."""

from typing import Final

from kproxy.handlers.live.share_counters import EVENTS, GroupCounts, ShareCounters
from kproxy.share.acquisition import AcquiredRange
from kproxy.share.identifiers import GroupId
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import NO_CHANGE, StateBatch, StateDelta
from kproxy.statelog.actors import MAX_TEXT_LENGTH
from tests.in_memory.recording_observer import RecordingObserver
from tests.worlds.share_builders import SaidBatch

WORKERS: Final = GroupId("workers")


def test_first_deliveries_are_told_from_repeated_ones() -> None:
    # Given
    observer = RecordingObserver()

    # When
    ShareCounters(observer).delivered(
        WORKERS, [AcquiredRange(0, 9, 1), AcquiredRange(10, 12, 2), AcquiredRange(13, 13, 1)]
    )

    # Then
    assert observer.counts == {("share_deliveries", "true"): 11, ("share_deliveries", "false"): 3}


def test_acknowledgements_are_counted_by_type_and_archived_records_by_reason() -> None:
    # Given
    observer = RecordingObserver()
    batches = [SaidBatch(0, 9, [1]), SaidBatch(10, 14, [0, 2, 2, 3, 4])]
    archived = (
        StateBatch(10, 10, RecordState.ARCHIVED, 1),
        StateBatch(12, 13, RecordState.ARCHIVED, 5),
    )

    # When
    ShareCounters(observer).acknowledged(WORKERS, batches, StateDelta(0, 13, archived), start_offset=0)

    # Then
    assert observer.counts == {
        ("share_acknowledgements", "accept"): 10,
        ("share_acknowledgements", "gap"): 1,
        ("share_acknowledgements", "release"): 2,
        ("share_acknowledgements", "reject"): 1,
        ("share_acknowledgements", "renew"): 1,
        ("share_archived", "rejected"): 1,
        ("share_archived", "gap"): 1,
        ("share_archived", "delivery_limit"): 1,
    }


def test_what_is_said_of_records_below_the_start_offset_is_not_counted() -> None:
    """It is accepted and changes nothing, as on a broker; and it may be said of 2^63 offsets."""
    # Given
    observer = RecordingObserver()
    batches = [
        SaidBatch(-1, 2**40, [1]),
        SaidBatch(2**40 + 1, 2**40 + 12, [2]),
        SaidBatch(2**40 + 13, 2**40 + 14, [1, 3]),
    ]

    # When
    ShareCounters(observer).acknowledged(WORKERS, batches, NO_CHANGE, start_offset=2**40 + 11)
    ShareCounters(observer).acknowledged(WORKERS, batches, NO_CHANGE, start_offset=2**40 + 14)

    # Then
    assert observer.counts == {
        ("share_acknowledgements", "accept"): 1,
        ("share_acknowledgements", "release"): 2,
        ("share_acknowledgements", "reject"): 2,
        ("share_archived", "rejected"): 2,
    }


def test_a_lock_that_ends_counts_whatever_becomes_of_the_record() -> None:
    # Given
    observer = RecordingObserver()
    batches = (StateBatch(0, 3, RecordState.AVAILABLE, 1), StateBatch(4, 4, RecordState.ARCHIVED, 5))

    # When
    ShareCounters(observer).locks_expired(WORKERS, StateDelta(0, 1, batches))

    # Then
    assert observer.counts == {("share_lock_timeouts",): 5, ("share_archived", "delivery_limit"): 1}


def test_nothing_is_counted_for_nothing() -> None:
    # Given
    observer = RecordingObserver()
    counters = ShareCounters(observer)

    # When
    counters.released(WORKERS, NO_CHANGE)
    counters.locks_expired(WORKERS, NO_CHANGE)
    counters.overtaken_by_log_start(WORKERS, 0)
    counters.sessions_evicted([])

    # Then
    assert observer.counts == {}


def test_what_happened_to_the_records_of_a_group_is_told_of_that_group() -> None:
    # Given
    counters = ShareCounters(RecordingObserver())

    # When
    counters.delivered(WORKERS, [AcquiredRange(0, 9, 1), AcquiredRange(10, 12, 2)])
    counters.acknowledged(
        WORKERS, [SaidBatch(0, 4, [1]), SaidBatch(5, 8, [2, 3, 4, 0])], NO_CHANGE, start_offset=0
    )

    # Then
    assert counters.of_group(WORKERS) == GroupCounts(13, 3, 6, released_count=1, archived_count=2)
    assert counters.of_group(GroupId("others")) == GroupCounts()


def test_locks_that_end_and_records_that_are_given_up_are_told_of_their_group() -> None:
    # Given
    counters = ShareCounters(RecordingObserver())
    ended = (StateBatch(0, 3, RecordState.AVAILABLE, 1), StateBatch(4, 4, RecordState.ARCHIVED, 5))

    # When
    counters.locks_expired(WORKERS, StateDelta(0, 1, ended))
    counters.overtaken_by_log_start(WORKERS, 7)

    # Then
    [(group_id, counts)] = counters.records_of_groups()
    assert group_id == WORKERS
    assert dict(zip(EVENTS, counts.by_event(), strict=True)) == {
        "delivered": 0,
        "redelivered": 0,
        "acknowledged": 0,
        "released": 0,
        "lock_timeout": 5,
        "archived": 8,
    }


def test_of_a_group_with_a_very_long_id_as_much_is_told_as_a_label_may_have() -> None:
    # Given
    observer = RecordingObserver()

    # When
    ShareCounters(observer).fetched(GroupId("g" * 32_000), asked=4, acquired=1)

    # Then
    [((_, group), ratios)] = observer.observations.items()
    assert len(group) == MAX_TEXT_LENGTH
    assert ratios == [0.25]


def test_the_group_that_was_counted_first_makes_room_for_a_new_one() -> None:
    # Given
    counters = ShareCounters(RecordingObserver(), most_groups=2)

    # When
    for name in ("a", "b", "a", "c"):
        counters.delivered(GroupId(name), [AcquiredRange(0, 0, 1)])

    # Then
    assert [counters.of_group(GroupId(name)).delivered_count for name in ("a", "b", "c")] == [0, 1, 1]


def test_groups_with_long_ids_make_room_for_a_new_one_before_their_ids_take_much_memory() -> None:
    # Given
    counters = ShareCounters(RecordingObserver(), most_characters=10)
    names = [GroupId(name) for name in ("aaaa", "bbbb", "cc", "aaaa", "ddddd", "e" * 11)]

    # When
    told = []
    for name in names:
        counters.delivered(name, [AcquiredRange(0, 0, 1)])
        told.append([group_id[0] for group_id, _ in counters.records_of_groups()])

    # Then
    assert told == [["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c"], ["c", "d"], ["e"]]
