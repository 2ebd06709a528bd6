"""`LogAppender`: batches of records to the leaders of the state log's partitions, acks=all.

A broker works on one request of a connection at a time, and with acks=all it answers when the records are
replicated. So at most one request per broker is under way, and what comes meanwhile for other partitions of the
same broker leaves together with the next: one more group commit, across partitions.
"""

from asyncio import Future, get_running_loop
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, cast

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import TopicDescription
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.leader_doubts import LEADER_DOUBTS
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.state_log.append_outcome import AppendOutcome, not_sent, unknown
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId
from kproxy.telemetry import logs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse

log = logs.logger("net.state_log.log_appender")

ALL_IN_SYNC: Final = -1
MAX_REQUEST_BYTES: Final = 8 * 1024 * 1024
"""Of the batches in one request; a batch that is larger leaves alone."""

THROTTLED_LEADER_TRUSTED_FOR_MS: Final = 1_000
"""A leader whose quotas are exceeded is none that is gone, and every question counts for them."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    topic: TopicDescription
    partition: int
    batch: bytes
    outcome: Future[AppendOutcome]

    def settle(self, outcome: AppendOutcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class LogAppender:
    """Sends batches. A partition has at most one batch under way: its writer sees to that."""

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: BrokerConnections,
        tasks: TaskKeeper,
        write_timeout_ms: int,
    ) -> None:
        self._metadata = metadata
        self._connections = connections
        self._tasks = tasks
        self.write_timeout_ms: Final = write_timeout_ms
        """How long a leader may take (`share.coordinator.write.timeout.ms`)."""
        self._waiting: dict[int, list[_Waiting]] = {}

    def append(self, topic: TopicDescription, partition: int, batch: bytes) -> Future[AppendOutcome]:
        """Send `batch` to the partition's leader. The future's result says what became of it; it never fails.

        When it could not be sent, or was refused by one who does not lead the partition, it is asked who leads it now:
        whoever sends it again may find out.
        """
        outcome: Future[AppendOutcome] = get_running_loop().create_future()
        waiting = _Waiting(topic, partition, batch, outcome)
        try:
            self._queue(self._metadata.require_leader(topic, partition).leader_id, waiting)
        except BrokerUnavailable as failure:
            self._give_back([waiting], str(failure))
        return outcome

    def _queue(self, leader_id: int, waiting: _Waiting) -> None:
        queue = self._waiting.get(leader_id)
        if queue is not None:
            queue.append(waiting)
            return
        # The task begins after this turn of the loop, and takes all that the turn adds.
        self._waiting[leader_id] = [waiting]
        self._tasks.spawn(self._drain(leader_id), name=f"state log appends to broker {leader_id}")

    async def _drain(self, leader_id: int) -> None:
        """Send until nothing waits; the key's presence tells that this runs."""
        queue = self._waiting[leader_id]
        sent: list[_Waiting] = []
        try:
            while queue:
                sent = _one_request(queue)
                await self._send(leader_id, sent)
        finally:
            del self._waiting[leader_id]
            for waiting in (*sent, *queue):
                waiting.settle(unknown("kproxy is stopping"))

    async def _send(self, leader_id: int, sent: Sequence[_Waiting]) -> None:
        try:
            client = await self._connections.appender(leader_id)
        except BrokerUnavailable as failure:
            self._give_back(sent, str(failure))
            return
        try:
            client.require_throttle_within(self.write_timeout_ms)
            await client.pass_throttle()
        except BrokerUnavailable as throttled:
            self._give_back(sent, str(throttled), not_older_than_ms=THROTTLED_LEADER_TRUSTED_FOR_MS)
            return
        if not client.is_open:
            self._give_back(sent, f"{client.peer} closed the connection")
            return
        try:
            response = await self._produce(client, sent)
        except BrokerUnavailable as failure:
            _settle_all(sent, unknown(str(failure)))
            return
        if doubtful := _settle_by(response, sent, client.peer):
            self._look_for_leaders_soon(doubtful, 0)

    def _give_back(self, waiting: Sequence[_Waiting], detail: str, *, not_older_than_ms: int = 0) -> None:
        """Say that nothing was sent, and look for the leaders, unless they were seen so short a time ago."""
        _settle_all(waiting, not_sent(detail))
        self._look_for_leaders_soon({each.topic.topic_id for each in waiting}, not_older_than_ms)

    def _look_for_leaders_soon(self, topic_ids: Collection[TopicId], not_older_than_ms: int) -> None:
        look = self._look_for_leaders(topic_ids, not_older_than_ms)
        self._tasks.spawn(look, name="look for leaders of the state log")

    async def _look_for_leaders(self, topic_ids: Collection[TopicId], not_older_than_ms: int) -> None:
        try:
            await self._metadata.confirm(topic_ids, not_older_than_ms=not_older_than_ms)
        except BrokerUnavailable as failure:
            log.debug("leaders_not_found", detail=failure)

    async def _produce(self, client: BrokerClient, sent: Sequence[_Waiting]) -> ProduceResponse:
        topics: dict[str, TopicProduceData] = {}
        for waiting in sent:
            topic = waiting.topic
            data = topics.setdefault(topic.name, TopicProduceData(topic.name, topic.topic_id))
            data.partition_data.append(PartitionProduceData(waiting.partition, waiting.batch))
        request = ProduceRequest(
            acks=ALL_IN_SYNC, timeout_ms=self.write_timeout_ms, topic_data=list(topics.values())
        )
        response = await client.request(ApiKey.PRODUCE, request, broker_wait_ms=self.write_timeout_ms)
        return cast("ProduceResponse", response)


def _one_request(queue: list[_Waiting]) -> list[_Waiting]:
    """Take from the front of `queue` what fits into one request; at least one."""
    size, count = 0, 0
    for waiting in queue:
        size += len(waiting.batch)
        if count and size > MAX_REQUEST_BYTES:
            break
        count += 1
    taken = queue[:count]
    del queue[:count]
    return taken


def _settle_all(sent: Sequence[_Waiting], outcome: AppendOutcome) -> None:
    for waiting in sent:
        waiting.settle(outcome)


def _settle_by(response: ProduceResponse, sent: Sequence[_Waiting], peer: str) -> Collection[TopicId]:
    """Return the topics of batches that were refused by one who does not lead their partitions."""
    doubtful: set[TopicId] = set()
    found: dict[tuple[str | bytes, int], PartitionProduceResponse] = {}
    for topic in response.responses:
        for partition in topic.partition_responses:
            # Version 13 says the id, older ones the name.
            found[topic.name or bytes(topic.topic_id), partition.index] = partition
    for waiting in sent:
        answer = found.get((waiting.topic.name, waiting.partition)) or found.get(
            (bytes(waiting.topic.topic_id), waiting.partition)
        )
        outcome = _outcome_of(answer, f"{waiting.topic.name}-{waiting.partition} at {peer}")
        if outcome.error_code in LEADER_DOUBTS:
            doubtful.add(waiting.topic.topic_id)
        waiting.settle(outcome)
    return doubtful


def _outcome_of(answer: PartitionProduceResponse | None, where: str) -> AppendOutcome:
    if answer is None:
        return unknown(f"no word about {where} in the answer")
    code = known_code(answer.error_code)
    if code is not ErrorCode.NONE:
        detail = f"{where}: {code.name} ({answer.error_code}) {answer.error_message or ''}".rstrip()
        return AppendOutcome(code, detail=detail)
    return AppendOutcome(ErrorCode.NONE, answer.base_offset)
