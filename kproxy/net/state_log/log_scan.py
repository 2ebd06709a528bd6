"""`LogScan`: reads one log partition from an offset up to and including another, record by record."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, CorruptStateRecord, MalformedMessage
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    PartitionData,
    PartitionRead,
    PartitionReader,
    TopicDescription,
)
from kproxy.statelog.state_log_fold import Outcome
from kproxy.telemetry import logs
from kproxy.wire.record_batches import BatchExtent, walk_extents
from kproxy.wire.records import DecodedRecords, Record, decode_records

R = TypeVar("R")

log = logs.logger("net.state_log.log_scan")

BYTES_PER_READ: Final = 64 * 1024
"""Decoding this much holds the event loop for some 15 ms where records are small; then everybody else has a turn."""

_VALUE_BYTES_OF_ONE: Final = 32
"""A record with a longer value counts for several: to take in a member of a group takes a tenth of a millisecond."""

RECORDS_PER_PROGRESS_LINE: Final = 100_000


class LogTruncated(BrokerUnavailable):
    """The log ends, or begins, where records are expected that were durable once.

    Raised by `LogScan`; the slot is loaded again from what there is, with an alarm. `log_start_offset` is where the
    log begins, 0 when that is not known.
    """

    def __init__(self, detail: str, log_start_offset: int = 0) -> None:
        super().__init__(detail, log_start_offset)
        self.log_start_offset = log_start_offset
        self._detail = detail

    def __str__(self) -> str:
        return self._detail


class UnreadableLog(CorruptStateRecord):
    """The leader calls the log corrupt, or sends what is no batch: nothing behind that offset can be read.

    Raised by `LogScan`; loading ends with it, and looks try again.
    """


class LogScan:
    """Reads partitions of the state log. Reads go up to the high watermark, so what is read is durable."""

    def __init__(self, reader: PartitionReader) -> None:
        self._reader = reader

    async def log_start(self, topic: TopicDescription, partition: int) -> int:
        """Return the first offset that there is. Raises BrokerUnavailable."""
        return await self._reader.find_offset(topic.topic_id, partition, EARLIEST_TIMESTAMP)

    async def log_end(self, topic: TopicDescription, partition: int) -> int:
        """Return the offset behind the last one that is durable. Raises BrokerUnavailable."""
        return await self._reader.find_offset(topic.topic_id, partition, LATEST_TIMESTAMP)

    async def from_log_start(self, not_before: int, read: Callable[[int], Awaitable[R]]) -> R:
        """Let `read` begin at the log start, `not_before` at the earliest; again whenever the start moved meanwhile.

        Old records may be deleted at any moment, by whoever looks after the log. `read` is given the offset to begin
        at; where the log begins is asked only after that turned out to be too early.

        Raises:
            LogTruncated: by `read`, and not because the log begins later.
        """
        begins_at = not_before
        while True:
            try:
                return await read(begins_at)
            except LogTruncated as truncated:
                if truncated.log_start_offset <= begins_at:
                    raise
                begins_at = truncated.log_start_offset

    async def read(
        self,
        topic: TopicDescription,
        partition: int,
        *,
        first_offset: int,
        last_offset: int,
        take: Callable[[Record], Outcome],
        is_skipping: bool = False,
    ) -> int:
        """Give `take` every record from `first_offset` to `last_offset`, both inclusive, in order; return how many.

        With `is_skipping` batches that cannot be decoded are passed over.

        Raises:
            LogTruncated: the log begins above `first_offset`, or ends below `last_offset`.
            BrokerUnavailable: the leader does not answer.
            UnsupportedStateRecord: what `take` raises, the text naming the partition.
            CorruptStateRecord: bytes that are no records, or what `take` raises; the text names the partition.
        """
        count, offset = 0, first_offset
        while offset <= last_offset:
            where = f"{topic.name}-{partition}"
            data = await self._fetch(topic, partition, offset)
            decoded = _decoded(data, offset, last_offset, where, is_skipping=is_skipping)
            records, offset = decoded
            await _give(records, take, where)
            if count // RECORDS_PER_PROGRESS_LINE != (count + len(records)) // RECORDS_PER_PROGRESS_LINE:
                log.info("slot_loading", partition=where, offset=offset, last_offset=last_offset)
            count += len(records)
        return count

    async def look(
        self,
        topic: TopicDescription,
        partition: int,
        *,
        first_offset: int,
        last_offset: int,
        take: Callable[[Record], Outcome],
    ) -> int:
        """Read as `read` does, for who does not judge the log: batches that cannot be decoded are passed over.

        Raises:
            LogTruncated: the log begins above `first_offset`, or ends below `last_offset`.
            BrokerUnavailable: the leader does not answer, or calls its log corrupt, which loading will judge.
        """
        try:
            return await self.read(
                topic,
                partition,
                first_offset=first_offset,
                last_offset=last_offset,
                take=take,
                is_skipping=True,
            )
        except UnreadableLog as unreadable:
            raise BrokerUnavailable(str(unreadable)) from unreadable

    async def _fetch(self, topic: TopicDescription, partition: int, offset: int) -> PartitionData:
        data = await self._read_in_time(PartitionRead(topic.topic_id, partition, offset, BYTES_PER_READ))
        where = f"{topic.name}-{partition} at offset {offset}"
        if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            raise LogTruncated(
                f"{where}: the log has offsets {data.log_start_offset} to {data.high_watermark - 1}",
                data.log_start_offset,
            )
        if data.error_code is ErrorCode.CORRUPT_MESSAGE:
            raise UnreadableLog(f"{where}: {data.error_code.name}")
        if data.error_code is not ErrorCode.NONE:
            raise BrokerUnavailable(f"{where} cannot be read: {data.error_code.name}")
        return data

    async def _read_in_time(self, read: PartitionRead) -> PartitionData:
        """Return what was read; where a broker's quotas want no reads, when they do again.

        A scan that ended with that would begin again, read the same once more, and exceed them again: for ever.
        """
        while True:
            (data,) = await self._reader.read([read], max_bytes=BYTES_PER_READ)
            if data.throttle is None:
                return data
            await asyncio.sleep(data.throttle.remaining_ms / 1000)


async def _give(records: Sequence[Record], take: Callable[[Record], Outcome], where: str) -> None:
    """Give `take` all of `records`; others have turns in between, the first one behind a read soon."""
    pace = Pace()
    try:
        for record in records:
            if take(record) is Outcome.SKIPPED_CORRUPT:
                log.warning("corrupt_record_skipped", partition=where, offset=record.offset)
            if pace.is_pause_due(1 + len(record.value or b"") // _VALUE_BYTES_OF_ONE):
                await let_others_go_on()
    except CorruptStateRecord as corrupt:
        raise type(corrupt)(f"{where}: {corrupt}") from corrupt


def _decoded(
    data: PartitionData, offset: int, last_offset: int, where: str, *, is_skipping: bool
) -> tuple[list[Record], int]:
    """Return the records up to `last_offset`, and where to go on."""
    if not data.records:
        if data.high_watermark <= last_offset:
            raise BrokerUnavailable(
                f"{where}: the log ends at {data.high_watermark} so far, not above {last_offset}"
            )
        raise BrokerUnavailable(f"{where} at offset {offset}: an empty read below the high watermark")
    try:
        decoded = decode_records(data.records, from_offset=offset)
    except MalformedMessage as malformed:
        if not is_skipping:
            raise CorruptStateRecord(f"{where}: {malformed}") from malformed
        decoded = _sound_batches(data.records, offset, where)
    if decoded.next_offset <= offset:
        # Brokers begin with the batch that holds the offset. To ask again would bring the same, without end.
        raise BrokerUnavailable(f"{where} at offset {offset}: no batch that reaches it was sent")
    return [record for record in decoded.records if record.offset <= last_offset], decoded.next_offset


def _sound_batches(records: memoryview, offset: int, where: str) -> DecodedRecords:
    """Return what can be decoded, batch by batch. Raises UnreadableLog when the first one is no batch at all."""
    sound, next_offset = list[Record](), offset
    for extent in _whole_extents(records, where):
        batch = records[extent.position : extent.position + extent.size_bytes]
        try:
            decoded = decode_records(batch, from_offset=next_offset)  # one may be there twice
        except MalformedMessage as malformed:
            log.warning(
                "corrupt_batch_skipped", partition=where, offset=extent.first_offset, detail=malformed
            )
            next_offset = max(next_offset, extent.last_offset + 1)
        else:
            sound += decoded.records
            next_offset = decoded.next_offset
    return DecodedRecords(sound, next_offset)


def _whole_extents(records: memoryview, where: str) -> Sequence[BatchExtent]:
    extents: list[BatchExtent] = []
    try:
        extents.extend(walk_extents(records))
    except MalformedMessage as malformed:
        if not extents:
            raise UnreadableLog(f"{where}: {malformed}") from malformed
    return extents
