"""What every `PartitionReader` keeps to: run against the double, the scripted cluster and real Kafka."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode
from kproxy.handlers.fetching.aborted_batches import aborted_extents
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    PartitionData,
    PartitionRead,
    PartitionReader,
)
from kproxy.share.identifiers import TopicId
from kproxy.wire.record_batches import batch_extents

PLENTY: Final = 1 << 20


class ReaderWorld(Protocol):
    """A reader, and a topic of three empty partitions that it reads."""

    reader: PartitionReader
    topic_id: TopicId

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        ...

    async def append_in_transaction(self, partition: int, values: Sequence[bytes]) -> None:
        """Append `values` as one batch of a transaction, which begins with it if none is open."""
        ...

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort the transaction; its markers are there, and the last stable offset has moved."""
        ...

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        ...


async def read(
    world: ReaderWorld,
    *offsets: tuple[int, int],
    max_bytes: int = PLENTY,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> Sequence[PartitionData]:
    """Read (partition, offset) pairs."""
    reads = [PartitionRead(world.topic_id, partition, offset, max_bytes) for partition, offset in offsets]
    return await world.reader.read(reads, max_bytes=max_bytes, isolation=isolation)


async def read_committed(world: ReaderWorld, partition: int, offset: int) -> PartitionData:
    """Read what is committed of one partition."""
    return (await read(world, (partition, offset), isolation=IsolationLevel.READ_COMMITTED))[0]


def extents(data: PartitionData) -> list[tuple[int, int]]:
    """Return the inclusive extents of the batches read."""
    return [(extent.first_offset, extent.last_offset) for extent in batch_extents(data.records)]


async def offsets_of(world: ReaderWorld, partition: int, isolation: IsolationLevel) -> list[int]:
    """Read a partition to its end, segment by segment; the offsets, whatever batches they stand in."""
    found: list[int] = []
    while True:
        begin = found[-1] + 1 if found else 0
        (data,) = await read(world, (partition, begin), isolation=isolation)
        if not data.records:
            return found
        found += [offset for first, last in extents(data) for offset in range(first, last + 1)]


async def results_come_in_the_order_asked_each_with_its_watermarks(world: ReaderWorld) -> None:
    await world.append(0, [b"a", b"b"])
    await world.append(2, [b"c"])
    third, first, second = await read(world, (2, 0), (0, 0), (1, 0))
    assert [data.error_code for data in (first, second, third)] == [ErrorCode.NONE] * 3
    assert (extents(first), extents(second), extents(third)) == ([(0, 1)], [], [(0, 0)])
    assert [data.high_watermark for data in (first, second, third)] == [2, 0, 1]
    assert [data.last_stable_offset for data in (first, second, third)] == [2, 0, 1]
    assert [data.log_start_offset for data in (first, second, third)] == [0, 0, 0]


async def a_read_from_within_a_batch_returns_the_whole_batch(world: ReaderWorld) -> None:
    await world.append(0, [b"a", b"b", b"c"])
    await world.append(0, [b"d"])
    (data,) = await read(world, (0, 2))
    assert extents(data) == [(0, 2), (3, 3)]


async def a_read_at_the_high_watermark_finds_nothing_and_does_not_wait(world: ReaderWorld) -> None:
    await world.append(0, [b"a"])
    (data,) = await read(world, (0, 1))
    assert (data.error_code, len(data.records), data.high_watermark) == (ErrorCode.NONE, 0, 1)


async def a_byte_limit_below_one_batch_still_brings_the_first(world: ReaderWorld) -> None:
    await world.append(0, [b"x" * 500])
    await world.append(0, [b"x" * 500])
    await world.append(1, [b"x" * 500])
    first, second = await read(world, (0, 0), (1, 0), max_bytes=100)
    assert extents(first) == [(0, 0)]
    assert (extents(second), second.error_code, second.high_watermark) == ([], ErrorCode.NONE, 1)


async def a_byte_limit_in_the_middle_of_a_batch_brings_the_whole_ones_before_it(world: ReaderWorld) -> None:
    await world.append(0, [b"x" * 500])
    await world.append(0, [b"x" * 500])
    (data,) = await read(world, (0, 0), max_bytes=800)
    assert extents(data) == [(0, 0)]


async def an_offset_beyond_the_end_is_out_of_range_and_the_log_start_is_told(world: ReaderWorld) -> None:
    await world.append(0, [b"a"])
    (data,) = await read(world, (0, 5))
    assert (data.error_code, data.log_start_offset, data.high_watermark) == (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        0,
        1,
    )
    assert len(data.records) == 0


async def an_offset_below_the_log_start_is_out_of_range_and_the_log_start_is_told(world: ReaderWorld) -> None:
    for _ in range(3):
        await world.append(0, [b"a"])
    await world.move_start(0, 2)
    below, within = (await read(world, (0, 1)))[0], (await read(world, (0, 2)))[0]
    assert (below.error_code, below.log_start_offset, below.high_watermark) == (
        ErrorCode.OFFSET_OUT_OF_RANGE,
        2,
        3,
    )
    assert (within.error_code, extents(within), within.log_start_offset) == (ErrorCode.NONE, [(2, 2)], 2)


async def offsets_are_found_by_time(world: ReaderWorld) -> None:
    await world.append(0, [b"a"], timestamp_ms=1000)
    await world.append(0, [b"b"], timestamp_ms=2000)
    found = [
        await world.reader.find_offset(world.topic_id, 0, timestamp)
        for timestamp in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, 1000, 1001, 2001)
    ]
    assert found == [0, 2, 0, 1, 2]


async def a_read_of_committed_records_ends_where_a_transaction_is_open(world: ReaderWorld) -> None:
    await world.append(0, [b"a"])
    await world.append_in_transaction(0, [b"b", b"c"])
    await world.append(0, [b"d"])
    assert await offsets_of(world, 0, IsolationLevel.READ_UNCOMMITTED) == [0, 1, 2, 3]
    assert await offsets_of(world, 0, IsolationLevel.READ_COMMITTED) == [0]
    committed, (everything,) = await read_committed(world, 0, 0), await read(world, (0, 0))
    assert (committed.readable_end, everything.readable_end) == (1, 4)
    beyond = await read_committed(world, 0, 3)
    assert (beyond.error_code, extents(beyond), beyond.readable_end) == (ErrorCode.NONE, [], 1)
    await world.end_transaction(is_commit=True)
    assert await offsets_of(world, 0, IsolationLevel.READ_COMMITTED) == [0, 1, 2, 3, 4]
    after = await read_committed(world, 0, 0)
    assert (after.readable_end, list(after.aborted)) == (5, [])


async def a_read_of_committed_records_names_the_transactions_that_were_aborted(world: ReaderWorld) -> None:
    for is_commit in (True, False, False, True):
        await world.append_in_transaction(0, [b"a", b"b"])
        await world.end_transaction(is_commit=is_commit)
    data = await read_committed(world, 0, 0)
    assert [transaction.first_offset for transaction in data.aborted] == [3, 6]
    aborted = aborted_extents(data.records, batch_extents(data.records), data.aborted)
    assert [(extent.first_offset, extent.last_offset) for extent in aborted] in (
        [(3, 4), (6, 7)],
        [(3, 3), (4, 4), (6, 6), (7, 7)],
    )
    later = await read_committed(world, 0, 7)
    assert [transaction.first_offset for transaction in later.aborted] == [6]
    (everything,) = await read(world, (0, 0))
    assert list(everything.aborted) == []


PARTITION_READER_CONTRACT: Final[Sequence[Callable[[ReaderWorld], Awaitable[None]]]] = (
    results_come_in_the_order_asked_each_with_its_watermarks,
    a_read_from_within_a_batch_returns_the_whole_batch,
    a_read_at_the_high_watermark_finds_nothing_and_does_not_wait,
    a_byte_limit_below_one_batch_still_brings_the_first,
    a_byte_limit_in_the_middle_of_a_batch_brings_the_whole_ones_before_it,
    an_offset_beyond_the_end_is_out_of_range_and_the_log_start_is_told,
    an_offset_below_the_log_start_is_out_of_range_and_the_log_start_is_told,
    offsets_are_found_by_time,
    a_read_of_committed_records_ends_where_a_transaction_is_open,
    a_read_of_committed_records_names_the_transactions_that_were_aborted,
)
