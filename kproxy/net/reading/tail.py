"""`BrokerTail`: one long poll after the other that tells at once when a partition of a broker has news.

The records that a broker sends along are not looked at: with `TAIL_MAX_BYTES` it sends one batch at most,
and the high watermarks of all partitions where they moved, with their last stable offsets.
"""

import asyncio
from collections.abc import Collection
from typing import Final, Protocol

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import Clock
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.reading.fetch_session import FetchSession
from kproxy.net.reading.fetch_topics import FetchEntry, fetched_partitions
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_response import FetchResponse

log = logs.logger("net.reading.tail")

TAIL_MAX_WAIT_MS: Final = 250
"""How long a poll lasts without news; a newly watched partition may have to wait that long to be in one."""

TAIL_MAX_BYTES: Final = 1
"""Per request and per partition: brokers still send the first batch of the first partition that has one."""

LEAST_POLL_INTERVAL_MS: Final = 2
"""Between the beginnings of two polls, so that a busy partition cannot make a tail eat the processor."""

LEAST_PAUSE_AFTER_FAILURE_MS: Final = 50

_SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class TailListener(Protocol):
    """Who is told what a tail hears."""

    def heard(self, tail: "BrokerTail", topic_partition: TopicIdPartition, end_offset: int) -> None:
        """Take note that what may be read ends here: the high watermark, or the last stable offset."""
        ...

    def refused(self, tail: "BrokerTail", topic_partition: TopicIdPartition, error_code: ErrorCode) -> None:
        """Take note that the broker will not watch this partition; it is no longer in the tail."""
        ...

    def lost(self, tail: "BrokerTail") -> None:
        """Take note that the broker does not answer; the tail keeps trying."""
        ...


class BrokerTail:
    """Watches partitions of one broker, as long as somebody awaits one of them, under one isolation level.

    For committed records the broker holds the poll until a last stable offset moves, whatever the high watermark does.
    While nobody does, no poll is sent and the fetch session rests; what happened meanwhile is the answer to
    the next.
    """

    def __init__(
        self,
        node_id: int,
        *,
        connections: BrokerConnections,
        clock: Clock,
        listener: TailListener,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> None:
        self.node_id = node_id
        self._isolation = isolation
        self._connections = connections
        self._clock = clock
        self._listener = listener
        self._session = FetchSession(isolation)
        self._topic_ids: dict[str, TopicId] = {}
        self._topics: dict[TopicId, tuple[str, set[int]]] = {}
        self._awaited: set[TopicIdPartition] = set()
        self._is_awaited = asyncio.Event()
        self._client: BrokerClient | None = None

    @property
    def topic_names(self) -> Collection[str]:
        """The topics of which partitions are watched."""
        return self._topic_ids.keys()

    def put(self, entry: FetchEntry) -> None:
        """Watch a partition from `fetch_offset` on, or move on to another offset."""
        self._session.put(entry)
        self._topic_ids[entry.topic_name] = entry.topic_id
        _, partitions = self._topics.setdefault(entry.topic_id, (entry.topic_name, set()))
        partitions.add(entry.partition)

    def drop(self, topic_partition: TopicIdPartition) -> None:
        """Watch a partition no more, and await it no more."""
        self._session.forget(topic_partition)
        self.set_awaited(topic_partition, is_awaited=False)
        name, partitions = self._topics.get(topic_partition.topic_id, ("", set[int]()))
        partitions.discard(topic_partition.partition)
        if not partitions:
            self._topics.pop(topic_partition.topic_id, None)
            if self._topic_ids.get(name) == topic_partition.topic_id:
                del self._topic_ids[name]

    def set_awaited(self, topic_partition: TopicIdPartition, *, is_awaited: bool) -> None:
        """Say whether somebody sleeps until the partition has news."""
        if is_awaited:
            self._awaited.add(topic_partition)
            self._is_awaited.set()
            return
        self._awaited.discard(topic_partition)
        if not self._awaited:
            self._is_awaited.clear()

    async def run(self) -> None:
        """Poll for ever; cancelled at the end. May be begun anew."""
        self._session.restart()
        while True:
            await self._is_awaited.wait()
            began_ms = self._clock.now_ms()
            try:
                has_news = await self._poll()
            except BrokerUnavailable as failure:
                await self._recover(failure)
                continue
            elapsed_ms = self._clock.now_ms() - began_ms
            least_ms = LEAST_POLL_INTERVAL_MS if has_news else LEAST_PAUSE_AFTER_FAILURE_MS
            if elapsed_ms < least_ms:
                await asyncio.sleep((least_ms - elapsed_ms) / 1000)

    async def _poll(self) -> bool:
        client = await self._connections.tail(self.node_id, self._isolation)
        if client is not self._client:
            self._client = client
            self._session.restart()
        version = client.version_for(ApiKey.FETCH)
        request = self._session.next_request(max_wait_ms=TAIL_MAX_WAIT_MS, max_bytes=TAIL_MAX_BYTES)
        response = await client.request(ApiKey.FETCH, request, version, broker_wait_ms=TAIL_MAX_WAIT_MS)
        assert isinstance(response, FetchResponse)
        error_code = known_code(response.error_code)
        if error_code in _SESSION_ERRORS:
            log.debug("fetch_session_restarted", node_id=self.node_id, reason=error_code.name)
            self._session.restart()
            return True
        if error_code is not ErrorCode.NONE:
            raise BrokerUnavailable(f"{client.peer} answered a Fetch with {error_code.name}")
        self._session.absorb(response)
        return self._tell(response, version)

    def _tell(self, response: FetchResponse, version: int) -> bool:
        found = fetched_partitions(response, version, self._topic_ids)
        for topic_partition, partition in found.items():
            # One that was dropped while the poll was out is nobody's concern any more.
            if topic_partition not in self._session:
                continue
            error_code = known_code(partition.error_code)
            if error_code is ErrorCode.NONE:
                is_committed = self._isolation is IsolationLevel.READ_COMMITTED
                end_offset = partition.last_stable_offset if is_committed else partition.high_watermark
                self._listener.heard(self, topic_partition, end_offset)
            else:
                self.drop(topic_partition)
                self._listener.refused(self, topic_partition, error_code)
        return bool(found)

    async def _recover(self, failure: BrokerUnavailable) -> None:
        log.debug("tail_lost", node_id=self.node_id, detail=failure)
        self._session.restart()
        self._listener.lost(self)
        pause_ms = max(self._connections.backoff_ms(self.node_id), LEAST_PAUSE_AFTER_FAILURE_MS)
        await asyncio.sleep(pause_ms / 1000)
