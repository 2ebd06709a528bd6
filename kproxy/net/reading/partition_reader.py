"""`BrokerPartitionReader`: records and offsets straight from the partitions' leaders.

One Fetch per leader, without a fetch session and without waiting, on a connection that no long poll uses. A
request never names a partition twice (brokers collapse that in silence): two readers of one partition send
two requests.
"""

import asyncio
from collections.abc import Collection, Coroutine, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable, MalformedMessage
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import (
    OnEarly,
    PartitionData,
    PartitionLeader,
    PartitionRead,
    Throttle,
    TopicDescription,
)
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import ReadConnections
from kproxy.net.cluster.leader_doubts import LEADER_DOUBTS, told_code
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.throttle import LONGEST_THROTTLE_MS
from kproxy.net.reading.early_reads import EarlyReads
from kproxy.net.reading.fetch_topics import (
    FIRST_VERSION_BY_TOPIC_ID,
    FetchEntry,
    fetch_topics,
    fetched_partitions,
)
from kproxy.net.reading.log_ranges import LogRanges
from kproxy.net.reading.offset_lookup import NAME_TRUSTED_FOR_MS, UNKNOWN_OFFSET, OffsetLookup
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages import fetch_response
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.record_batches import walk_extents

log = logs.logger("net.reading.partition_reader")

_UNKNOWN: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID})

NO_RECORDS: Final = memoryview(b"")


@dataclass(frozen=True, slots=True)
class _LocatedRead:
    """A read whose leader is known. `position` is its place among the reads asked for."""

    position: int
    read: PartitionRead
    topic: TopicDescription
    leader: PartitionLeader

    def entry(self) -> FetchEntry:
        return FetchEntry(
            topic_id=self.topic.topic_id,
            topic_name=self.topic.name,
            partition=self.read.partition,
            fetch_offset=self.read.offset,
            leader_epoch=self.leader.leader_epoch,
            max_bytes=self.read.max_bytes,
        )


@dataclass(frozen=True, slots=True)
class _Share:
    """What is asked of one leader: so many bytes, and which records."""

    max_bytes: int
    isolation: IsolationLevel


class BrokerPartitionReader:
    """Implements `PartitionReader`.

    A partition that its supposed leader disowns, and one whose leader does not answer, is looked up anew
    and read once more; if that fails too its result is NOT_LEADER_OR_FOLLOWER, upon which clients refresh
    and try again. A leader whose quotas are exceeded is not asked until the throttle time is over.
    One that reads for clients `is_in_line`: of those whose topics' names are confirmed together, so many go on in a
    turn of the event loop. What kproxy reads for itself, as its state log, waits behind no clients.
    """

    def __init__(
        self, *, metadata: ClusterMetadataCache, connections: ReadConnections, is_in_line: bool = False
    ) -> None:
        self._metadata = metadata
        self._connections = connections
        self._is_in_line = is_in_line
        self._offsets = OffsetLookup(metadata=metadata, connections=connections, is_in_line=is_in_line)
        self._ranges = LogRanges(metadata=metadata, connections=connections)

    async def read(
        self,
        reads: Sequence[PartitionRead],
        *,
        max_bytes: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        on_early: OnEarly | None = None,
    ) -> Sequence[PartitionData]:
        """Read what is there without waiting; one result per read, in order. Raises nothing."""
        with EarlyReads(on_early) as early:
            return await self._read(reads, max_bytes, isolation, early)

    async def find_offset(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        """Return the first offset from `timestamp` on, or the high watermark when no record is that young.

        Raises:
            BrokerUnavailable: there is no such topic-partition, or its leader cannot say.
        """
        return await self._offsets.find(topic_id, partition, timestamp)

    # ------------------------------------------------ private: reading

    async def _read(
        self, reads: Sequence[PartitionRead], max_bytes: int, isolation: IsolationLevel, early: EarlyReads
    ) -> Sequence[PartitionData]:
        results = await self._read_once(reads, max_bytes, isolation, early)
        doubtful = [position for position, data in enumerate(results) if _is_doubtful(data)]
        if doubtful and await self._look_again({reads[position].topic_id for position in doubtful}):
            bytes_left = max(1, max_bytes - sum(len(data.records) for data in results))
            read_again = [reads[position] for position in doubtful]
            again = await self._read_once(read_again, bytes_left, isolation, early)
            for position, data in zip(doubtful, again, strict=True):
                results[position] = data
            self._doubt_metadata(reads, results)
        await self._ranges.fill_in(reads, results)
        for data in results:
            data.error_code = told_code(data.error_code)
        return results

    async def _read_once(
        self,
        reads: Sequence[PartitionRead],
        max_bytes: int,
        isolation: IsolationLevel,
        early: EarlyReads,
    ) -> list[PartitionData]:
        await self._learn({read.topic_id for read in reads})
        # What stays as it is now belongs to a leader that did not answer.
        results = [_failed(ErrorCode.NOT_LEADER_OR_FOLLOWER) for _ in reads]
        by_leader: dict[int, list[_LocatedRead]] = {}
        for position, read in enumerate(reads):
            located = self._locate(position, read)
            if isinstance(located, ErrorCode):
                results[position] = _failed(located)
            else:
                by_leader.setdefault(located.leader.leader_id, []).append(located)
        share = _Share(max(1, max_bytes // max(1, len(by_leader))), isolation)

        async def fetch(leader_id: int, located: Sequence[_LocatedRead]) -> None:
            await self._fetch(leader_id, located, share, results)
            early.came(one.read for one in located if not _is_doubtful(results[one.position]))

        await _all_of([fetch(leader_id, located) for leader_id, located in by_leader.items()])
        return results

    async def _learn(self, topic_ids: Collection[TopicId]) -> None:
        for topic_id in topic_ids:
            if self._metadata.describe(topic_id) is None:
                try:
                    await self._metadata.topic_with_id(topic_id)
                except BrokerUnavailable as failure:
                    log.debug("topic_lookup_failed", detail=failure)

    def _locate(self, position: int, read: PartitionRead) -> _LocatedRead | ErrorCode:
        topic = self._metadata.describe(read.topic_id)
        if topic is None:
            is_certain = self._metadata.last_failure is None
            return ErrorCode.UNKNOWN_TOPIC_ID if is_certain else ErrorCode.NOT_LEADER_OR_FOLLOWER
        leader = self._metadata.leader_of(read.topic_id, read.partition)
        if leader is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if leader.leader_id < 0:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _LocatedRead(position, read, topic, leader)

    async def _fetch(
        self, leader_id: int, located: Sequence[_LocatedRead], share: _Share, results: list[PartitionData]
    ) -> None:
        try:
            client = await self._connections.reader(leader_id)
            if throttled_ms := client.throttled_ms:
                _hold_back(located, Throttle(throttled_ms, is_new=False), results)
                return
            if client.version_for(ApiKey.FETCH) < FIRST_VERSION_BY_TOPIC_ID:
                located = await self._still_so_named(located, results)
            if located:
                await self._fetch_from(client, located, share, results)
        except BrokerUnavailable as failure:
            log.debug("read_failed", node_id=leader_id, detail=failure)

    async def _still_so_named(
        self, located: Sequence[_LocatedRead], results: list[PartitionData]
    ) -> Sequence[_LocatedRead]:
        topic_ids = {one.read.topic_id for one in located}
        await self._metadata.confirm(
            topic_ids, not_older_than_ms=NAME_TRUSTED_FOR_MS, is_in_line=self._is_in_line
        )
        gone = {topic_id for topic_id in topic_ids if self._metadata.describe(topic_id) is None}
        for one in located:
            if one.read.topic_id in gone:
                results[one.position] = _failed(ErrorCode.UNKNOWN_TOPIC_ID)
        return [one for one in located if one.read.topic_id not in gone]

    async def _fetch_from(
        self,
        client: BrokerClient,
        located: Sequence[_LocatedRead],
        share: _Share,
        results: list[PartitionData],
    ) -> None:
        version = client.version_for(ApiKey.FETCH)
        topics = fetch_topics(one.entry() for one in located)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=share.max_bytes,
            isolation_level=share.isolation,
            topics=topics,
        )
        response = await client.request(ApiKey.FETCH, request, version)
        assert isinstance(response, FetchResponse)
        if response.throttle_time_ms > 0:
            throttle_ms = min(response.throttle_time_ms, LONGEST_THROTTLE_MS)
            _hold_back(located, Throttle(throttle_ms, is_new=True), results)
        found = fetched_partitions(response, version, {one.topic.name: one.topic.topic_id for one in located})
        for one in located:
            partition = found.get(TopicIdPartition(one.read.topic_id, one.read.partition))
            if partition is not None:
                where = f"{one.topic.name}-{one.read.partition}"
                results[one.position] = _data(partition, share.isolation, where=where)

    # ------------------------------------------------ private: leaders in doubt

    def _doubt_metadata(self, reads: Sequence[PartitionRead], results: Sequence[PartitionData]) -> None:
        """A topic that its leaders do not know is deleted, or the broker that still describes it is behind."""
        unknown = {
            read.topic_id for read, data in zip(reads, results, strict=True) if data.error_code in _UNKNOWN
        }
        if any(self._metadata.describe(topic_id) is not None for topic_id in unknown):
            self._metadata.ask_another_broker()

    async def _look_again(self, topic_ids: Collection[TopicId]) -> bool:
        try:
            await self._metadata.confirm(topic_ids, not_older_than_ms=0)
        except BrokerUnavailable:
            return False
        return True


def _is_doubtful(data: PartitionData) -> bool:
    return data.error_code in LEADER_DOUBTS


async def _all_of(steps: Sequence[Coroutine[object, object, None]]) -> None:
    """Return when all of `steps`, none of which raises, are done; the usual single one needs no task."""
    if len(steps) == 1:
        await steps[0]
        return
    async with asyncio.TaskGroup() as group:
        for step in steps:
            group.create_task(step)


def _failed(error_code: ErrorCode) -> PartitionData:
    return PartitionData(error_code, NO_RECORDS, UNKNOWN_OFFSET, UNKNOWN_OFFSET, UNKNOWN_OFFSET)


def _hold_back(located: Sequence[_LocatedRead], throttle: Throttle, results: list[PartitionData]) -> None:
    for one in located:
        results[one.position] = _failed(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        results[one.position].throttle = throttle


def _data(partition: fetch_response.PartitionData, isolation: IsolationLevel, *, where: str) -> PartitionData:
    data = PartitionData(
        known_code(partition.error_code),
        NO_RECORDS,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
        isolation,
        partition.aborted_transactions or (),
    )
    try:
        data.records = _from_whole_batch(partition.records)
    except MalformedMessage as malformed:
        log.warning("batches_unreadable", reason="corrupt_message", partition=where, detail=malformed)
        data.error_code = ErrorCode.CORRUPT_MESSAGE
    return data


def _from_whole_batch(records: bytes | memoryview | None) -> memoryview:
    # Where the byte limit falls into a batch, brokers send its beginning all the same. Of many megabytes of small
    # batches only the first is looked at here: to look at all would hold the loop for a second.
    if not records:
        return NO_RECORDS
    view = memoryview(records)
    return view if next(walk_extents(view), None) is not None else NO_RECORDS
