"""`LogAppender`: batches of records to the leaders of the state log's partitions, acks=all.

A broker works on one request of a connection at a time, and with acks=all it answers when the records are
replicated. So at most one request per broker is under way, and what comes meanwhile for other partitions of the
same broker leaves together with the next: one more group commit, across partitions.
"""

from asyncio import Future, get_running_loop
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import TopicDescription
from kproxy.net.broker_client import BrokerClient
from kproxy.net.broker_connections import BrokerConnections
from kproxy.net.cluster_metadata import ClusterMetadataCache
from kproxy.net.leader_doubts import known_code
from kproxy.net.tasks import TaskKeeper
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import PartitionProduceResponse, ProduceResponse

ALL_IN_SYNC: Final = -1
MAX_REQUEST_BYTES: Final = 8 * 1024 * 1024
"""Of the batches in one request; a batch that is larger leaves alone."""

NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class AppendOutcome:
    """What became of a batch. `base_offset` is -1 unless `error_code` is NONE.

    NETWORK_EXCEPTION means that nobody knows: the connection ended, or the answer did not come in time.
    LEADER_NOT_AVAILABLE means that the batch was not sent.
    """

    error_code: ErrorCode
    base_offset: int = NO_OFFSET
    detail: str = ""


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
        self._write_timeout_ms = write_timeout_ms
        self._waiting: dict[int, list[_Waiting]] = {}

    def append(self, topic: TopicDescription, partition: int, batch: bytes) -> Future[AppendOutcome]:
        """Send `batch` to the partition's leader. The future's result says what became of it; it never fails."""
        outcome: Future[AppendOutcome] = get_running_loop().create_future()
        waiting = _Waiting(topic, partition, batch, outcome)
        leader = self._metadata.leader_of(topic.topic_id, partition)
        if leader is None or leader.leader_id < 0:
            detail = f"no leader is known of {topic.name}-{partition}"
            waiting.settle(AppendOutcome(ErrorCode.LEADER_NOT_AVAILABLE, detail=detail))
        else:
            self._queue(leader.leader_id, waiting)
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
                waiting.settle(AppendOutcome(ErrorCode.NETWORK_EXCEPTION, detail="kproxy is stopping"))

    async def _send(self, leader_id: int, sent: Sequence[_Waiting]) -> None:
        try:
            client = await self._connections.appender(leader_id)
        except BrokerUnavailable as failure:
            _settle_all(sent, AppendOutcome(ErrorCode.LEADER_NOT_AVAILABLE, detail=str(failure)))
            return
        try:
            response = await self._produce(client, sent)
        except BrokerUnavailable as failure:
            _settle_all(sent, AppendOutcome(ErrorCode.NETWORK_EXCEPTION, detail=str(failure)))
            return
        _settle_by(response, sent, client.peer)

    async def _produce(self, client: BrokerClient, sent: Sequence[_Waiting]) -> ProduceResponse:
        topics: dict[str, TopicProduceData] = {}
        for waiting in sent:
            topic = waiting.topic
            data = topics.setdefault(topic.name, TopicProduceData(topic.name, topic.topic_id))
            data.partition_data.append(PartitionProduceData(waiting.partition, waiting.batch))
        request = ProduceRequest(
            acks=ALL_IN_SYNC, timeout_ms=self._write_timeout_ms, topic_data=list(topics.values())
        )
        response = await client.request(ApiKey.PRODUCE, request, broker_wait_ms=self._write_timeout_ms)
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


def _settle_by(response: ProduceResponse, sent: Sequence[_Waiting], peer: str) -> None:
    found: dict[tuple[str | bytes, int], PartitionProduceResponse] = {}
    for topic in response.responses:
        for partition in topic.partition_responses:
            # Version 13 says the id, older ones the name.
            found[topic.name or bytes(topic.topic_id), partition.index] = partition
    for waiting in sent:
        answer = found.get((waiting.topic.name, waiting.partition)) or found.get(
            (bytes(waiting.topic.topic_id), waiting.partition)
        )
        waiting.settle(_outcome_of(answer, f"{waiting.topic.name}-{waiting.partition} at {peer}"))


def _outcome_of(answer: PartitionProduceResponse | None, where: str) -> AppendOutcome:
    if answer is None:
        return AppendOutcome(ErrorCode.NETWORK_EXCEPTION, detail=f"no word about {where} in the answer")
    code = known_code(answer.error_code)
    if code is not ErrorCode.NONE:
        detail = f"{where}: {code.name} ({answer.error_code}) {answer.error_message or ''}".rstrip()
        return AppendOutcome(code, detail=detail)
    return AppendOutcome(ErrorCode.NONE, answer.base_offset)
