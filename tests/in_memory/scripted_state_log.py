"""`ScriptedStateLog`: a scripted cluster that is written to, with everything the state log asks of its brokers.

Produce follows the rules of idempotent producers; what becomes of an append, and of its answer, a test chooses.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kproxy.wire.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kproxy.wire.messages.delete_records_request import DeleteRecordsRequest
from kproxy.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest
from kproxy.wire.messages.init_producer_id_response import InitProducerIdResponse
from kproxy.wire.messages.produce_request import ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record, decode_records
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.in_memory.scripted_producers import NO_PRODUCER, BatchHead, ProducerStates

NOT_CONTROLLER: Final = 41
FIRST_BATCHED_VERSION: Final = 4

WRITING_VERSIONS: Final[Mapping[int, tuple[int, int]]] = {
    ApiKey.PRODUCE: (3, 12),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.FIND_COORDINATOR: (0, 4),
    ApiKey.CREATE_TOPICS: (2, 7),
    ApiKey.DESCRIBE_CONFIGS: (1, 4),
    ApiKey.DELETE_RECORDS: (0, 2),
}

STOCK_TOPIC_CONFIGS: Final[Mapping[str, str]] = {
    "cleanup.policy": "delete",
    "retention.ms": "604800000",
    "retention.bytes": "-1",
    "unclean.leader.election.enable": "false",
    "compression.type": "producer",
    "min.insync.replicas": "1",
    "max.message.bytes": "1048588",
}


class Fate(Enum):
    """What becomes of a Produce request."""

    LOST = "lost"
    """It never lands, and its connection breaks."""
    LANDS_UNANSWERED = "lands unanswered"
    """It lands, and its connection breaks before the answer."""
    LATE = "late"
    """Its connection breaks, and it lands when the test says `land_late`."""
    HELD = "held"
    """It stands still on the way until the test says `release_held`, and is then treated like any other."""


class ScriptedStateLog(ScriptedCluster):
    """A `ScriptedCluster` with topics that can be created, described, written and pruned.

    Attributes, for tests to change at any moment:
        may_land: cleared, Produce requests wait before they land.
        release_held: set, those that are HELD go on.
        before_init_producer_id: called with the transactional id before an epoch is given out.
        refused_initializations: what InitProducerId is answered with, in order; then it succeeds.
        creation_error, description_error, deletion_error: what these requests are answered with.
        controller_id, coordinator_id: the only broker that creates topics; the one that gives out producer ids.
        configs: of topics, by name.
        latest_date_ms: the last moment that appends may be dated with (`message.timestamp.after.max.ms`).
    """

    def __init__(
        self,
        node_ids: Sequence[int] = (1,),
        *,
        versions: Mapping[int, tuple[int, int]] = WRITING_VERSIONS,
        fetch_versions: tuple[int, int] = (4, 17),
    ) -> None:
        super().__init__(node_ids, fetch_versions=fetch_versions)
        self._fates: deque[tuple[Fate, frozenset[TopicIdPartition]]] = deque()
        self.may_land = asyncio.Event()
        self.may_land.set()
        self.release_held = asyncio.Event()
        self.before_init_producer_id: Callable[[str], object] | None = None
        self.refused_initializations: deque[ErrorCode] = deque()
        self.creation_error = self.description_error = self.deletion_error = ErrorCode.NONE
        self.controller_id = self.coordinator_id = node_ids[0]
        self.configs: dict[str, dict[str, str]] = {}
        self.latest_date_ms: int | None = None
        self._producers: dict[TopicIdPartition, ProducerStates] = {}
        self._producer_epochs: dict[str, tuple[int, int]] = {}
        self._append_errors: dict[TopicIdPartition, deque[tuple[ErrorCode, bool]]] = {}
        self._late: list[tuple[TopicIdPartition, bytes]] = []
        for node_id, broker in self.brokers.items():
            broker.version_ranges.update(versions)
            self._answer_writes(node_id)

    def _answer_writes(self, node_id: int) -> None:
        self.brokers[node_id].answers.update(
            {
                ApiKey.PRODUCE: lambda request: self._produce(node_id, request),
                ApiKey.INIT_PRODUCER_ID: lambda request: self._init_producer_id(node_id, request),
                ApiKey.FIND_COORDINATOR: self._find_coordinator,
                ApiKey.CREATE_TOPICS: lambda request: self._create_topics(node_id, request),
                ApiKey.DESCRIBE_CONFIGS: self._describe_configs,
                ApiKey.DELETE_RECORDS: lambda request: self._delete_records(node_id, request),
            }
        )

    # ------------------------------------------------ what tests do and look at

    def decree(self, fate: Fate, *partitions: TopicIdPartition) -> None:
        """Let the next Produce request with one of `partitions` (any, without) end so. Decrees come true in order."""
        self._fates.append((fate, frozenset(partitions)))

    def refuse_append(
        self, key: TopicIdPartition, error_code: ErrorCode, *, lands: bool = False, times: int = 1
    ) -> None:
        """Answer the next append to `key` with an error; with `lands` it is in the log all the same."""
        self._append_errors.setdefault(key, deque()).extend([(error_code, lands)] * times)

    def land_late(self) -> list[ErrorCode]:
        """Let what was LATE arrive; return what the leader says to each batch."""
        late, self._late = self._late, []
        return [ErrorCode(self._land(key, batch).error_code) for key, batch in late]

    def write_foreign(self, key: TopicIdPartition, *records: Record) -> int:
        """Append records of somebody without a producer id; return the base offset."""
        batch = build_batch(
            records, producer_id=NO_PRODUCER, producer_epoch=-1, base_sequence=-1, timestamp_ms=0
        )
        return self._land(key, batch).base_offset

    def expire_transactional_ids(self) -> None:
        """Let the coordinator forget all that it gave out: whoever asks next gets another producer id."""
        for transactional_id, (producer_id, _) in self._producer_epochs.items():
            self._producer_epochs[transactional_id] = (producer_id + 500, -1)

    def truncate(
        self, key: TopicIdPartition, end_offset: int, *, are_producers_forgotten: bool = False
    ) -> None:
        """Lose the end of a log, and with it what the leader knew of producers there, or all that it knew of them."""
        log = self._logs[key]
        log.truncate(end_offset)
        producers = self._producers[key] = ProducerStates()
        for batch in () if are_producers_forgotten else log.batches:
            producers.landed(BatchHead.of(batch.encoded), batch.first_offset)

    def records(self, key: TopicIdPartition) -> list[Record]:
        """Return every record of a log."""
        encoded = b"".join(batch.encoded for batch in self._logs[key].batches)
        return decode_records(memoryview(encoded), from_offset=0).records

    def producer_epoch(self, transactional_id: str) -> int:
        """Return the epoch given out last; -1 before any."""
        return self._producer_epochs.get(transactional_id, (0, -1))[1]

    def produced(self) -> list[list[tuple[str, int]]]:
        """Return the topic-partitions of each Produce request so far, by name."""
        return [
            [
                (topic.name, each.index)
                for topic in self._produce_of(request).topic_data
                for each in topic.partition_data
            ]
            for request in self.asked(ApiKey.PRODUCE)
        ]

    # ------------------------------------------------ Produce

    @staticmethod
    def _produce_of(request: DecodedRequest) -> ProduceRequest:
        assert isinstance(request.message, ProduceRequest)
        return request.message

    async def _produce(self, node_id: int, request: DecodedRequest) -> ProduceResponse | None:
        message = self._produce_of(request)
        assert message.acks == -1, "the state log waits for every replica"
        await self.may_land.wait()
        batches = {
            self._key(topic, each.index): bytes(each.records or b"")
            for topic in message.topic_data
            for each in topic.partition_data
        }
        if self._fates and (not self._fates[0][1] or self._fates[0][1] & set(batches)):
            fate = self._fates.popleft()[0]
            if fate is not Fate.HELD:
                await self._meet_fate(fate, batches)
                return None
            await self.release_held.wait()
        answers = {key: self._append(node_id, key, batch) for key, batch in batches.items()}
        await self.wake_polls()
        return _produce_response(answers, self.topic_names)

    def _key(self, topic: TopicProduceData, partition: int) -> TopicIdPartition:
        return TopicIdPartition(self._id_of(topic.topic_id, topic.name), partition)

    async def _meet_fate(self, fate: Fate, batches: Mapping[TopicIdPartition, bytes]) -> None:
        if fate is Fate.LATE:
            self._late += batches.items()
        elif fate is Fate.LANDS_UNANSWERED:
            for key, batch in batches.items():
                self._land(key, batch)
            await self.wake_polls()

    def _append(self, node_id: int, key: TopicIdPartition, batch: bytes) -> PartitionProduceResponse:
        if key not in self._leaders:
            return _refusal(key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self._leaders[key][0] != node_id:
            return _refusal(key, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if errors := self._append_errors.get(key):
            error_code, lands = errors.popleft()
            if lands:
                self._land(key, batch)
            return _refusal(key, error_code)
        if self.latest_date_ms is not None and BatchHead.of(batch).timestamp_ms > self.latest_date_ms:
            return _refusal(key, ErrorCode.INVALID_TIMESTAMP)
        return self._land(key, batch)

    def _land(self, key: TopicIdPartition, batch: bytes) -> PartitionProduceResponse:
        head = BatchHead.of(batch)
        producers = self._producers.setdefault(key, ProducerStates())
        verdict = producers.judge(head)
        if isinstance(verdict, ErrorCode):
            return _refusal(key, verdict)
        if verdict is None:
            verdict = self._logs[key].append_batch(
                batch, last_offset_delta=head.last_offset_delta, timestamp_ms=head.timestamp_ms
            )
            producers.landed(head, verdict)
        return PartitionProduceResponse(index=key.partition, base_offset=verdict)

    # ------------------------------------------------ producer ids

    def _find_coordinator(self, request: DecodedRequest) -> FindCoordinatorResponse:
        message = request.message
        assert isinstance(message, FindCoordinatorRequest)
        assert message.key_type == 1, "transactional ids"
        if request.api_version < FIRST_BATCHED_VERSION:
            return FindCoordinatorResponse(node_id=self.coordinator_id)
        found = [Coordinator(key=key, node_id=self.coordinator_id) for key in message.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)

    def _init_producer_id(self, node_id: int, request: DecodedRequest) -> InitProducerIdResponse:
        message = request.message
        assert isinstance(message, InitProducerIdRequest)
        transactional_id = message.transactional_id
        assert transactional_id is not None
        if node_id != self.coordinator_id:
            return InitProducerIdResponse(error_code=ErrorCode.NOT_COORDINATOR)
        if self.refused_initializations:
            return InitProducerIdResponse(error_code=self.refused_initializations.popleft())
        if self.before_init_producer_id is not None:
            self.before_init_producer_id(transactional_id)
        fresh = (1000 + len(self._producer_epochs), -1)
        producer_id, epoch = self._producer_epochs.get(transactional_id, fresh)
        self._producer_epochs[transactional_id] = (producer_id, epoch + 1)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=epoch + 1)

    # ------------------------------------------------ topics

    def _create_topics(self, node_id: int, request: DecodedRequest) -> CreateTopicsResponse:
        message = request.message
        assert isinstance(message, CreateTopicsRequest)
        return CreateTopicsResponse(topics=[self._create(node_id, topic) for topic in message.topics])

    def _create(self, node_id: int, topic: CreatableTopic) -> CreatableTopicResult:
        error_code: int = self.creation_error
        if node_id != self.controller_id:
            error_code = NOT_CONTROLLER
        elif topic.name in self.topic_names.values():
            error_code = ErrorCode.TOPIC_ALREADY_EXISTS
        elif topic.replication_factor > len(self.brokers):
            error_code = ErrorCode.INVALID_REPLICATION_FACTOR
        if error_code == ErrorCode.NONE:
            topic_id = TopicId(topic.name.encode()[-16:].rjust(16, b"."))
            self.create_topic(topic.name, topic_id, partition_count=topic.num_partitions)
            self.configs[topic.name] = {each.name: each.value or "" for each in topic.configs}
        return CreatableTopicResult(name=topic.name, error_code=error_code, error_message=None)

    def _describe_configs(self, request: DecodedRequest) -> DescribeConfigsResponse:
        message = request.message
        assert isinstance(message, DescribeConfigsRequest)
        return DescribeConfigsResponse(results=[self._configs_of(each) for each in message.resources])

    def _configs_of(self, asked: DescribeConfigsResource) -> DescribeConfigsResult:
        result = DescribeConfigsResult(
            resource_type=asked.resource_type, resource_name=asked.resource_name, error_message=None
        )
        if self.description_error is not ErrorCode.NONE:
            result.error_code = self.description_error
            return result
        values = {**STOCK_TOPIC_CONFIGS, **self.configs.get(asked.resource_name, {})}
        keys = asked.configuration_keys if asked.configuration_keys is not None else list(values)
        result.configs = [
            DescribeConfigsResourceResult(name=key, value=values[key]) for key in keys if key in values
        ]
        return result

    def _delete_records(self, node_id: int, request: DecodedRequest) -> DeleteRecordsResponse:
        message = request.message
        assert isinstance(message, DeleteRecordsRequest)
        topics = [
            DeleteRecordsTopicResult(
                topic.name,
                [
                    self._delete(
                        node_id,
                        TopicIdPartition(self._id_of(bytes(16), topic.name), each.partition_index),
                        each.offset,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in message.topics
        ]
        return DeleteRecordsResponse(topics=topics)

    def _delete(self, node_id: int, key: TopicIdPartition, offset: int) -> DeleteRecordsPartitionResult:
        error_code = self.deletion_error
        if self._leaders[key][0] != node_id:
            error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif offset > self._logs[key].high_watermark:
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        if error_code is ErrorCode.NONE:
            self._logs[key].move_start(offset)
        return DeleteRecordsPartitionResult(key.partition, self._logs[key].log_start_offset, error_code)


def _refusal(key: TopicIdPartition, error_code: ErrorCode) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=key.partition, error_code=error_code, base_offset=-1)


def _produce_response(
    answers: Mapping[TopicIdPartition, PartitionProduceResponse], names: Mapping[TopicId, str]
) -> ProduceResponse:
    topics: dict[TopicId, TopicProduceResponse] = {}
    for key, answer in answers.items():
        topic = TopicProduceResponse(names.get(key.topic_id, ""), key.topic_id)
        topics.setdefault(key.topic_id, topic).partition_responses.append(answer)
    return ProduceResponse(responses=list(topics.values()))
