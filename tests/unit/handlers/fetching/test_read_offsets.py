"""How many records a read is of use for, and what is waited for after it."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.fetching.read_offsets import (
    acquirable_from,
    is_read_to_its_end,
    missing_offset,
    without_room,
)
from kproxy.handlers.ports import PartitionData, PartitionRead
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.limits import ShareLimits
from kproxy.share.share_partition import SharePartition

TOPIC_ID = TopicId(b"topic-id-orders.")


def a_share_partition() -> SharePartition:
    """Return one at offset 10 with room for five records."""
    return SharePartition(
        SharePartitionKey(GroupId("g"), TOPIC_ID, 0),
        start_offset=10,
        state_batches=[],
        limits=ShareLimits(partition_max_record_locks=5),
    )


def acquire(share_partition: SharePartition, count: int) -> None:
    share_partition.acquire(
        MemberId("alice"),
        [(10, 9 + count)],
        fetch_offset=10,
        max_records=count,
        batch_size=count,
        is_record_limit=False,
        now_ms=0,
    )


def a_read() -> PartitionRead:
    return PartitionRead(TOPIC_ID, 0, 10, 1_000)


def what_was_read(
    *, high_watermark: int, records: bytes = b"", error_code: ErrorCode = ErrorCode.NONE
) -> PartitionData:
    return PartitionData(error_code, memoryview(records), high_watermark, high_watermark, 0)


def test_what_may_be_acquired_ends_with_the_room_of_the_window() -> None:
    # Given
    share_partition = a_share_partition()

    # Then
    assert [acquirable_from(share_partition, offset) for offset in (10, 12, 15, 99)] == [5, 3, 0, 0]


def test_what_comes_back_in_a_window_that_is_larger_than_it_may_be_can_be_acquired() -> None:
    # Given
    share_partition = a_share_partition()
    acquire(share_partition, 8)

    # Then
    assert acquirable_from(share_partition, 10) == 8


@pytest.mark.parametrize(("high_watermark", "missed"), [(12, 12), (10, 10), (7, 10)])
def test_what_the_read_saw_is_not_waited_for_again(high_watermark: int, missed: int) -> None:
    assert (
        missing_offset(a_share_partition(), a_read(), what_was_read(high_watermark=high_watermark)) == missed
    )


def test_behind_acquired_records_the_next_ones_are_waited_for() -> None:
    # Given
    share_partition = a_share_partition()
    acquire(share_partition, 2)

    # Then
    assert missing_offset(share_partition, a_read(), what_was_read(high_watermark=20)) == 12


def test_with_a_full_window_no_offset_is_waited_for() -> None:
    # Given
    share_partition = a_share_partition()
    acquire(share_partition, 5)

    # Then
    assert missing_offset(share_partition, a_read(), what_was_read(high_watermark=20)) is None


@pytest.mark.parametrize(
    ("high_watermark", "missed"),
    [(7, 7), (0, 0), (12, 10), (-1, None)],
    ids=["it ends below", "it is empty", "it has grown since", "its end is not known"],
)
def test_a_log_that_ends_below_the_offset_is_waited_for_at_its_end(
    high_watermark: int, missed: int | None
) -> None:
    data = what_was_read(high_watermark=high_watermark, error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    assert missing_offset(a_share_partition(), a_read(), data) == missed


@pytest.mark.parametrize(
    ("high_watermark", "records", "error_code", "expected"),
    [
        (10, b"", ErrorCode.NONE, True),
        (12, b"", ErrorCode.NONE, True),
        (12, b"x", ErrorCode.NONE, False),
        (7, b"", ErrorCode.OFFSET_OUT_OF_RANGE, True),
        (12, b"", ErrorCode.OFFSET_OUT_OF_RANGE, False),
        (-1, b"", ErrorCode.OFFSET_OUT_OF_RANGE, False),
        (10, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
    ],
    ids=[
        "at its end",
        "compacted",
        "records",
        "it ends below",
        "it has grown since",
        "its end is not known",
        "failed",
    ],
)
def test_there_is_nothing_to_acquire_where_the_log_ends_at_or_below_the_offset(
    high_watermark: int, records: bytes, error_code: ErrorCode, *, expected: bool
) -> None:
    # Given
    data = what_was_read(high_watermark=high_watermark, records=records, error_code=error_code)
    missing = missing_offset(a_share_partition(), a_read(), data)

    # Then
    assert is_read_to_its_end(a_read(), data, missing) is expected


FIRST, SECOND, THIRD = (TopicIdPartition(TOPIC_ID, partition) for partition in range(3))


def test_a_read_behind_the_first_had_no_room_when_it_brought_nothing_although_there_is_something() -> None:
    # Given
    reads = {partition: PartitionRead(*partition, 10, 100) for partition in (FIRST, SECOND, THIRD)}
    something, nothing = what_was_read(high_watermark=11, records=b"x"), what_was_read(high_watermark=11)
    failed = what_was_read(high_watermark=11, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    at_its_end = what_was_read(high_watermark=10)

    # When
    without = [
        without_room(reads, dict(zip(reads, results, strict=True)))
        for results in (
            (something, nothing, nothing),
            (something, something, at_its_end),
            (something, failed, nothing),
        )
    ]

    # Then
    assert without == [{SECOND, THIRD}, set(), {THIRD}]


def test_a_broker_sends_the_first_batch_there_is_so_what_is_empty_then_holds_nothing() -> None:
    # Given
    reads = {partition: PartitionRead(*partition, 10, 100) for partition in (FIRST, SECOND)}
    something, nothing = what_was_read(high_watermark=11, records=b"x"), what_was_read(high_watermark=11)

    # When
    without = [
        without_room(reads, {FIRST: nothing, SECOND: something}),
        without_room(reads, {FIRST: nothing, SECOND: nothing}),
        without_room({FIRST: reads[FIRST]}, {FIRST: nothing}),
    ]

    # Then
    assert [set(each) for each in without] == [set(), set(), set()]
