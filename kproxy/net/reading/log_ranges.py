"""`LogRanges`: where logs begin and end that have lost the offsets they were read from.

Retention does that to all partitions of a topic while its group is away, so one read may meet thousands of them.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, TypeAlias

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_ONCE, Pace, let_others_go_on
from kproxy.handlers.ports import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, PartitionData, PartitionRead
from kproxy.net.cluster.broker_connections import ReadConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.log_ends import LogEnds
from kproxy.net.reading.offset_lookup import UNKNOWN_OFFSET
from kproxy.share.identifiers import TopicIdPartition
from kproxy.telemetry import logs

log = logs.logger("net.reading.log_ranges")

FOUND_WITHIN_MS: Final = 30_000
"""What is not known by then is not waited for: as long as clients wait for an answer."""

_Lost: TypeAlias = tuple[PartitionRead, PartitionData]
"""A read that is out of range, and its result."""


class LogRanges:
    """Asks the leaders with `LogEnds`, one request at a time of each: reads of others stand behind none but that."""

    def __init__(self, *, metadata: ClusterMetadataCache, connections: ReadConnections) -> None:
        self._metadata = metadata
        self._connections = connections

    async def fill_in(self, reads: Sequence[PartitionRead], results: Sequence[PartitionData]) -> None:
        """Fill in the offsets that are missing in those of `results` that are out of range. Raises nothing.

        Where they cannot be found out, the result is NOT_LEADER_OR_FOLLOWER.
        """
        lost = [
            (read, data)
            for read, data in zip(reads, results, strict=True)
            if data.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
        ]
        if lost:
            await self._fill_in(lost)

    async def _fill_in(self, lost: Sequence[_Lost]) -> None:
        begins, ends = self._new_ends(EARLIEST_TIMESTAMP), self._new_ends(LATEST_TIMESTAMP)
        try:
            async with asyncio.timeout(FOUND_WITHIN_MS / 1000):
                await begins.find([_place(one) async for one in _with_pauses(lost) if _lacks_begin(one)])
                # Behind the beginnings, so that a log that moves on meanwhile does not end before it begins.
                places = [_place(one) async for one in _with_pauses(lost) if _lacks_end(one)]
                await ends.find([each for each in places if each not in begins.reasons])
        except TimeoutError:
            log.debug("range_lookup_late", partitions=len(lost), timeout_ms=FOUND_WITHIN_MS)
        async for one in _with_pauses(lost):
            place, (_, data) = _place(one), one
            _take(data, begins.ends.get(place), ends.ends.get(place))
            if data.error_code is not ErrorCode.OFFSET_OUT_OF_RANGE:
                detail = begins.reasons.get(place) or ends.reasons.get(place)
                log.debug("range_lookup_failed", partition=place.partition, detail=detail)

    def _new_ends(self, timestamp: int) -> LogEnds:
        return LogEnds(
            metadata=self._metadata,
            connections=self._connections,
            timestamp=timestamp,
            pause=let_others_go_on,
        )


async def _with_pauses(lost: Sequence[_Lost]) -> AsyncIterator[_Lost]:
    """Yield `lost`. Many came in an answer whose decoding took a turn: others have one before them, and in between."""
    pace = Pace(is_alone=True)
    if len(lost) > MOST_AT_ONCE:
        await let_others_go_on()
    for one in lost:
        yield one
        if pace.is_pause_due():
            await let_others_go_on()


def _place(lost: _Lost) -> TopicIdPartition:
    return TopicIdPartition(lost[0].topic_id, lost[0].partition)


def _lacks_begin(lost: _Lost) -> bool:
    return lost[1].log_start_offset == UNKNOWN_OFFSET


def _lacks_end(lost: _Lost) -> bool:
    return lost[1].high_watermark == UNKNOWN_OFFSET


def _take(data: PartitionData, begin: int | None, end: int | None) -> None:
    if end is not None:
        data.high_watermark = data.last_stable_offset = end
    if begin is not None:
        data.log_start_offset = data.high_watermark if begin == UNKNOWN_OFFSET else begin
    if UNKNOWN_OFFSET in {data.log_start_offset, data.high_watermark}:
        data.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
