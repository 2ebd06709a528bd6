"""`ScriptedPartitionReader`: the `PartitionReader` port over logs that a test writes record by record."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    OnEarly,
    PartitionData,
    PartitionRead,
    Throttle,
)
from kproxy.share.identifiers import TopicId
from kproxy.wire.messages.fetch_response import AbortedTransaction
from tests.in_memory.record_batch_bytes import record_batch, transaction_marker, transactional_batch


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One batch of an in-memory log; offsets inclusive."""

    first_offset: int
    last_offset: int
    timestamp_ms: int
    encoded: bytes


@dataclass(slots=True)
class InMemoryLog:
    """One topic-partition. `high_watermark` follows the end unless a test holds it back."""

    batches: list[LogBatch] = field(default_factory=list)
    log_start_offset: int = 0
    end_offset: int = 0
    held_high_watermark: int | None = None
    open_transactions: dict[int, int] = field(default_factory=dict)
    """By producer id: the first offset of what it has not ended yet."""
    aborted: list[tuple[int, AbortedTransaction]] = field(default_factory=list)
    """The transactions that were aborted, each with the offset of its marker."""

    @property
    def high_watermark(self) -> int:
        return self.end_offset if self.held_high_watermark is None else self.held_high_watermark

    def append(self, values: Sequence[bytes], *, timestamp_ms: int = 0) -> int:
        """Append `values` as one batch and return its first offset."""
        first_offset = self.end_offset
        encoded = record_batch(first_offset, values, timestamp_ms=timestamp_ms)
        self.end_offset = first_offset + len(values)
        self.batches.append(LogBatch(first_offset, self.end_offset - 1, timestamp_ms, encoded))
        return first_offset

    @property
    def last_stable_offset(self) -> int:
        return min(self.high_watermark, *self.open_transactions.values(), self.end_offset)

    def end_of(self, isolation: IsolationLevel) -> int:
        """Return the first offset that may not be read."""
        is_committed = isolation is IsolationLevel.READ_COMMITTED
        return self.last_stable_offset if is_committed else self.high_watermark

    def aborted_from(self, offset: int, isolation: IsolationLevel) -> list[AbortedTransaction]:
        """Return what a broker says beside the records that it sends from `offset` on."""
        if isolation is not IsolationLevel.READ_COMMITTED:
            return []
        return [transaction for marker, transaction in self.aborted if marker >= offset]

    def append_in_transaction(self, values: Sequence[bytes], *, producer_id: int) -> int:
        """Append `values` as one batch of a transaction, and return its first offset."""
        first_offset = self.end_offset
        self.open_transactions.setdefault(producer_id, first_offset)
        self._append_bytes(transactional_batch(first_offset, values, producer_id=producer_id), len(values))
        return first_offset

    def end_transaction(self, *, producer_id: int, is_commit: bool) -> int:
        """Append the marker, and return its offset."""
        marker = self.end_offset
        begin = self.open_transactions.pop(producer_id)
        if not is_commit:
            self.aborted.append((marker, AbortedTransaction(producer_id=producer_id, first_offset=begin)))
        self._append_bytes(transaction_marker(marker, producer_id=producer_id, is_commit=is_commit), 1)
        return marker

    def _append_bytes(self, encoded: bytes, count: int) -> None:
        self.batches.append(LogBatch(self.end_offset, self.end_offset + count - 1, 0, encoded))
        self.end_offset += count

    def append_batch(self, batch: bytes, *, last_offset_delta: int, timestamp_ms: int) -> int:
        """Append a batch that a producer made, as a leader does: its base offset written in. Returns that."""
        first_offset = self.end_offset
        encoded = first_offset.to_bytes(8) + batch[8:]
        self.end_offset = first_offset + last_offset_delta + 1
        self.batches.append(LogBatch(first_offset, self.end_offset - 1, timestamp_ms, encoded))
        return first_offset

    def truncate(self, end_offset: int) -> None:
        """Lose what lies at `end_offset` and above, as an unclean election does: whole batches."""
        self.batches = [batch for batch in self.batches if batch.last_offset < end_offset]
        self.end_offset = end_offset

    def append_gap(self, count: int) -> None:
        """Let `count` offsets pass that hold no record, as compaction and transactions leave them."""
        self.end_offset += count

    def move_start(self, log_start_offset: int) -> None:
        """Delete what lies below `log_start_offset`, as retention and DeleteRecords do: whole batches."""
        self.log_start_offset = log_start_offset
        self.batches = [batch for batch in self.batches if batch.last_offset >= log_start_offset]

    def bytes_from(
        self,
        offset: int,
        max_bytes: int,
        *,
        at_least_one: bool,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> bytes:
        """Return whole batches from the one that covers `offset`, within `max_bytes`, as far as may be read."""
        found = b""
        for batch in self.batches:
            if batch.last_offset < offset or batch.first_offset >= self.end_of(isolation):
                continue
            if len(found) + len(batch.encoded) > max_bytes and (found or not at_least_one):
                break
            found += batch.encoded
        return found


class ScriptedPartitionReader:
    """Reads from `log(...)`; errors are set with `fail`, and every read asked for is kept in `reads`.

    A read takes a turn of the loop, for real ones never return at once: others see that it is under way. `before_read`,
    when set, is awaited first instead: to hold the read back, or to change the world under it.
    """

    def __init__(self) -> None:
        self.reads: list[PartitionRead] = []
        self.before_read: Callable[[], Awaitable[None]] | None = None
        self.throttle: Throttle | None = None
        """While it is set, every read is held back so."""
        self.held: dict[tuple[TopicId, int], asyncio.Event] = {}
        """Reads of these end when the event is set: they have a leader of their own, which hangs."""
        self._logs: dict[tuple[TopicId, int], InMemoryLog] = {}
        self._failures: dict[tuple[TopicId, int], ErrorCode] = {}

    def log(self, topic_id: TopicId, partition: int) -> InMemoryLog:
        """Return the log of a topic-partition, empty at first."""
        return self._logs.setdefault((topic_id, partition), InMemoryLog())

    def fail(self, topic_id: TopicId, partition: int, error_code: ErrorCode) -> None:
        """Answer every read of the topic-partition with `error_code`, until it is NONE again."""
        self._failures[topic_id, partition] = error_code

    async def read(
        self,
        reads: Sequence[PartitionRead],
        *,
        max_bytes: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        on_early: OnEarly | None = None,
    ) -> Sequence[PartitionData]:
        assert len({(read.topic_id, read.partition) for read in reads}) == len(reads), (
            "a partition is named twice"
        )
        if self.before_read is not None:
            await self.before_read()
        else:
            await asyncio.sleep(0)
        self.reads.extend(reads)

        await self._wait_for_late_leaders(reads, on_early or (lambda _: None))
        results: list[PartitionData] = []
        bytes_left = max_bytes
        for read in reads:
            is_first = bytes_left == max_bytes
            result = self._read_one(read, bytes_left, at_least_one=is_first, isolation=isolation)
            bytes_left -= len(result.records)
            results.append(result)
        return results

    async def _wait_for_late_leaders(self, reads: Sequence[PartitionRead], tell: OnEarly) -> None:
        late = [read for read in reads if self._is_held(read)]
        early = [read for read in reads if read not in late]
        while late:
            tell(early)
            await self.held[late[0].topic_id, late[0].partition].wait()
            early = [read for read in late if not self._is_held(read)]
            late = [read for read in late if self._is_held(read)]

    def _is_held(self, read: PartitionRead) -> bool:
        event = self.held.get((read.topic_id, read.partition))
        return event is not None and not event.is_set()

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        failure = self._failure(topic_id, partition)
        if failure is not ErrorCode.NONE:
            raise BrokerUnavailable(f"scripted to fail with {failure.name}")
        log = self.log(topic_id, partition)
        if timestamp == EARLIEST_TIMESTAMP:
            return log.log_start_offset
        if timestamp == LATEST_TIMESTAMP:
            return log.high_watermark
        young = (batch.first_offset for batch in log.batches if batch.timestamp_ms >= timestamp)
        return next(young, log.high_watermark)

    def _read_one(
        self, read: PartitionRead, bytes_left: int, *, at_least_one: bool, isolation: IsolationLevel
    ) -> PartitionData:
        if self.throttle is not None:
            held_back = PartitionData(ErrorCode.THROTTLING_QUOTA_EXCEEDED, memoryview(b""), -1, -1, -1)
            held_back.throttle = self.throttle
            return held_back
        failure = self._failure(read.topic_id, read.partition)
        if failure is not ErrorCode.NONE:
            return PartitionData(failure, memoryview(b""), -1, -1, -1)
        log = self.log(read.topic_id, read.partition)
        if not log.log_start_offset <= read.offset <= log.end_offset:
            return _data(ErrorCode.OFFSET_OUT_OF_RANGE, b"", log)
        max_bytes = min(read.max_bytes, bytes_left)
        records = log.bytes_from(read.offset, max_bytes, at_least_one=at_least_one, isolation=isolation)
        data = _data(ErrorCode.NONE, records, log)
        data.isolation, data.aborted = isolation, log.aborted_from(read.offset, isolation)
        return data

    def _failure(self, topic_id: TopicId, partition: int) -> ErrorCode:
        return self._failures.get((topic_id, partition), ErrorCode.NONE)


def _data(error_code: ErrorCode, records: bytes, log: InMemoryLog) -> PartitionData:
    return PartitionData(
        error_code, memoryview(records), log.high_watermark, log.last_stable_offset, log.log_start_offset
    )
