"""`ScriptedCluster`: brokers on loopback sockets that answer Metadata, Fetch and ListOffsets from in-memory logs.

For what real brokers cannot be made to do on command: errors, elections and lost sessions at a chosen moment. The
same scenarios run against real brokers in `tests/kafka`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import cycle
from types import TracebackType
from typing import Final, Self

from kproxy.error_codes import ErrorCode
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kproxy.settings.addresses import HostPort
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.describe_acls_response import DescribeAclsResponse
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from kproxy.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.in_memory.answering_broker import Answer, AnsweringBroker
from tests.in_memory.scripted_fetches import FetchedPartition, FetchSessions
from tests.in_memory.scripted_partition_reader import InMemoryLog

DEFAULT_VERSIONS: Final[Mapping[int, tuple[int, int]]] = {
    ApiKey.METADATA: (0, 13),
    ApiKey.FETCH: (4, 17),
    ApiKey.LIST_OFFSETS: (1, 10),
    ApiKey.DESCRIBE_ACLS: (1, 3),
}


class ScriptedCluster:
    """Brokers of `node_ids`; topics by `create_topic`, records by `append`, elections by `lead`.

    `refuse` makes the leader of a partition answer with an error until it is told NONE. `fetch_versions` up to 12
    make brokers that fetch by topic name.
    """

    def __init__(
        self,
        node_ids: Sequence[int] = (1,),
        *,
        fetch_versions: tuple[int, int] = (4, 17),
        metadata_versions: tuple[int, int] = (0, 13),
    ) -> None:
        ranges = {**DEFAULT_VERSIONS, ApiKey.FETCH: fetch_versions, ApiKey.METADATA: metadata_versions}
        self.cluster_id = "scripted-cluster"
        self.brokers = {node_id: self._broker(node_id, ranges) for node_id in node_ids}
        self.listed_node_ids = list(node_ids)
        self.racks: dict[int, str] = {}
        self.controller_ids = cycle([-1])
        """Whom each answer to Metadata names, one after the other: a KRaft broker names anybody who is alive."""
        self._memories: dict[int, Mapping[str, MetadataResponseTopic]] = {}
        self.sessions = {node_id: FetchSessions() for node_id in node_ids}
        self.topic_names: dict[TopicId, str] = {}
        self._logs: dict[TopicIdPartition, InMemoryLog] = {}
        self._leaders: dict[TopicIdPartition, tuple[int, int]] = {}
        self._refusals: dict[TopicIdPartition, ErrorCode] = {}
        self._refused_reads: dict[TopicIdPartition, ErrorCode] = {}
        self._appended = asyncio.Condition()
        self._polls_out = 0
        self._poll_ended = asyncio.Condition()
        self._running = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for broker in self.brokers.values():
            await self._running.enter_async_context(broker)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.aclose()

    @property
    def bootstrap_servers(self) -> list[HostPort]:
        """The addresses of all brokers."""
        return [broker.address for broker in self.brokers.values()]

    def asked(self, api_key: int) -> list[DecodedRequest]:
        """Return the requests of one API to any broker."""
        return [request for broker in self.brokers.values() for request in broker.asked(api_key)]

    def create_topic(self, name: str, topic_id: TopicId, *, partition_count: int = 1) -> None:
        """Create a topic; leaders go round the brokers with epoch 0. A topic of that name is deleted first."""
        for old_id in [old_id for old_id, old_name in self.topic_names.items() if old_name == name]:
            self.delete_topic(old_id)
        self.topic_names[topic_id] = name
        node_ids = list(self.brokers)
        for partition in range(partition_count):
            key = TopicIdPartition(topic_id, partition)
            self._logs[key] = InMemoryLog()
            self._leaders[key] = (node_ids[partition % len(node_ids)], 0)

    def add_partitions(self, topic_id: TopicId, partition_count: int) -> None:
        """Let a topic have more partitions; what it has stays."""
        for partition in range(partition_count):
            key = TopicIdPartition(topic_id, partition)
            self._logs.setdefault(key, InMemoryLog())
            self._leaders.setdefault(key, (next(iter(self.brokers)), 0))

    def delete_topic(self, topic_id: TopicId) -> None:
        """Delete a topic with its logs."""
        del self.topic_names[topic_id]
        for key in [key for key in self._logs if key.topic_id == topic_id]:
            del self._logs[key], self._leaders[key]

    def log(self, topic_id: TopicId, partition: int) -> InMemoryLog:
        """Return a partition's log; appending to it directly wakes no long poll."""
        return self._logs[TopicIdPartition(topic_id, partition)]

    async def append(
        self, topic_id: TopicId, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 0
    ) -> None:
        """Append one batch, and let long polls see it."""
        self.log(topic_id, partition).append(values, timestamp_ms=timestamp_ms)
        await self.wake_polls()

    async def wake_polls(self) -> None:
        """Let long polls look again."""
        async with self._appended:
            self._appended.notify_all()

    async def until_no_poll_is_out(self) -> None:
        """Return when every Fetch has been answered."""
        async with self._poll_ended:
            await self._poll_ended.wait_for(lambda: self._polls_out == 0)

    def lead(self, topic_id: TopicId, partition: int, node_id: int) -> None:
        """Elect `node_id`, with the next leader epoch."""
        key = TopicIdPartition(topic_id, partition)
        self._leaders[key] = (node_id, self._leaders[key][1] + 1)

    def fall_behind(self, node_id: int) -> None:
        """Let a broker hear of no more changes: it goes on answering Metadata about the topics that there are now."""
        self._memories[node_id] = {
            name: self._describe(MetadataRequestTopic(name=name)) for name in self.topic_names.values()
        }

    def catch_up(self, node_id: int) -> None:
        """Let a broker that fell behind know everything."""
        del self._memories[node_id]

    def refuse(self, topic_id: TopicId, partition: int, error_code: ErrorCode) -> None:
        """Answer Fetch and ListOffsets of a partition with `error_code`, until it is NONE again."""
        self._refusals[TopicIdPartition(topic_id, partition)] = error_code

    def refuse_reads(self, key: TopicIdPartition, error_code: ErrorCode) -> None:
        """Answer Fetch of a partition with `error_code`, until it is NONE again."""
        self._refused_reads[key] = error_code

    # ------------------------------------------------ answers

    def _broker(self, node_id: int, ranges: Mapping[int, tuple[int, int]]) -> AnsweringBroker:
        async def fetch(request: DecodedRequest) -> FetchResponse:
            self._polls_out += 1
            try:
                return await self._fetch(node_id, request)
            finally:
                self._polls_out -= 1
                async with self._poll_ended:
                    self._poll_ended.notify_all()

        answers: dict[int, Answer] = {
            ApiKey.METADATA: partial(self._metadata, node_id),
            ApiKey.FETCH: fetch,
            ApiKey.LIST_OFFSETS: self._list_offsets,
            ApiKey.DESCRIBE_ACLS: lambda _: DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED),
        }
        return AnsweringBroker(answers, version_ranges=ranges)

    def _metadata(self, asked_node_id: int, request: DecodedRequest) -> MetadataResponse:
        message = request.message
        assert isinstance(message, MetadataRequest)
        every_topic = [MetadataRequestTopic(name=name) for name in self.topic_names.values()]
        brokers = [
            MetadataResponseBroker(
                node_id=node_id,
                host="127.0.0.1",
                port=self.brokers[node_id].address.port,
                rack=self.racks.get(node_id),
            )
            for node_id in self.listed_node_ids
        ]
        memory = self._memories.get(asked_node_id)
        topics = [
            self._describe(topic) if memory is None else _remembered(memory, topic)
            for topic in (every_topic if message.topics is None else message.topics)
        ]
        return MetadataResponse(
            brokers=brokers,
            cluster_id=self.cluster_id,
            controller_id=next(self.controller_ids),
            topics=topics,
        )

    def _describe(self, asked: MetadataRequestTopic) -> MetadataResponseTopic:
        by_name = [topic_id for topic_id, name in self.topic_names.items() if name == asked.name]
        topic_id = by_name[0] if by_name else TopicId(asked.topic_id)
        if topic_id not in self.topic_names:
            is_by_name = asked.name is not None
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_by_name else ErrorCode.UNKNOWN_TOPIC_ID
            return MetadataResponseTopic(error_code=missing, name=asked.name, topic_id=asked.topic_id)
        partitions = [
            MetadataResponsePartition(
                partition_index=key.partition,
                leader_id=node_id,
                leader_epoch=leader_epoch,
                replica_nodes=list(self.brokers),
            )
            for key, (node_id, leader_epoch) in self._leaders.items()
            if key.topic_id == topic_id
        ]
        return MetadataResponseTopic(
            name=self.topic_names[topic_id], topic_id=topic_id, partitions=partitions
        )

    async def _fetch(self, node_id: int, request: DecodedRequest) -> FetchResponse:
        message = request.message
        assert isinstance(message, FetchRequest)
        opened = self.sessions[node_id].open(message, self._id_of)
        if isinstance(opened, ErrorCode):
            return FetchResponse(error_code=opened)
        found: dict[TopicIdPartition, PartitionData] = {}
        try:
            async with asyncio.timeout(message.max_wait_ms / 1000), self._appended:
                while not self._is_enough(found := self._read_all(node_id, opened.partitions, message)):
                    await self._appended.wait()
        except TimeoutError:
            found = self._read_all(node_id, opened.partitions, message)
        told = opened.changes_among(found)
        return FetchResponse(session_id=opened.session_id, responses=self._by_topic(told))

    def _id_of(self, topic_id: bytes, name: str) -> TopicId:
        if topic_id != bytes(16):
            return TopicId(topic_id)
        return next(
            (known for known, known_name in self.topic_names.items() if known_name == name), TopicId(b"")
        )

    @staticmethod
    def _is_enough(found: dict[TopicIdPartition, PartitionData]) -> bool:
        return any(data.records or data.error_code for data in found.values())

    def _read_all(
        self, node_id: int, partitions: dict[TopicIdPartition, FetchedPartition], message: FetchRequest
    ) -> dict[TopicIdPartition, PartitionData]:
        max_bytes, isolation = message.max_bytes, IsolationLevel(message.isolation_level)
        found: dict[TopicIdPartition, PartitionData] = {}
        is_first = True
        for key, asked in partitions.items():
            data = found[key] = self._read(node_id, key, asked)
            if data.error_code == ErrorCode.NONE:
                limit = min(asked.max_bytes, max_bytes)
                log = self._logs[key]
                data.records = log.bytes_from(
                    asked.fetch_offset, limit, at_least_one=is_first, isolation=isolation
                )
                data.aborted_transactions = log.aborted_from(asked.fetch_offset, isolation)
                max_bytes -= len(data.records)
                is_first = is_first and not data.records
        return found

    def _read(self, node_id: int, key: TopicIdPartition, asked: FetchedPartition) -> PartitionData:
        error_code = self._leader_error(node_id, key, asked.leader_epoch)
        log = self._logs.get(key)
        if error_code is ErrorCode.NONE and log is not None:
            if log.log_start_offset <= asked.fetch_offset <= log.end_offset:
                return PartitionData(
                    key.partition, 0, log.high_watermark, log.last_stable_offset, log.log_start_offset
                )
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        return PartitionData(partition_index=key.partition, error_code=error_code, high_watermark=-1)

    def _leader_error(self, node_id: int, key: TopicIdPartition, leader_epoch: int) -> ErrorCode:
        if key not in self._leaders:
            return ErrorCode.UNKNOWN_TOPIC_ID
        leader_id, current_epoch = self._leaders[key]
        if leader_id != node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if leader_epoch < current_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return self._refused_reads.get(key) or self._refusals.get(key, ErrorCode.NONE)

    def _by_topic(self, found: dict[TopicIdPartition, PartitionData]) -> list[FetchableTopicResponse]:
        topics: dict[TopicId, FetchableTopicResponse] = {}
        for key, data in found.items():
            name = self.topic_names.get(key.topic_id, "")
            topic = topics.setdefault(key.topic_id, FetchableTopicResponse(topic=name, topic_id=key.topic_id))
            topic.partitions.append(data)
        return list(topics.values())

    def _list_offsets(self, request: DecodedRequest) -> ListOffsetsResponse:
        message = request.message
        assert isinstance(message, ListOffsetsRequest)
        topics = []
        for topic in message.topics:
            partitions = [
                self._list_offset(
                    TopicIdPartition(self._id_of(bytes(16), topic.name), asked.partition_index),
                    asked,
                    IsolationLevel(message.isolation_level),
                )
                for asked in topic.partitions
            ]
            topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=partitions))
        return ListOffsetsResponse(topics=topics)

    def _list_offset(
        self, key: TopicIdPartition, asked: ListOffsetsPartition, isolation: IsolationLevel
    ) -> ListOffsetsPartitionResponse:
        log = self._logs.get(key)
        error_code = self._refusals.get(key, ErrorCode.NONE)
        if log is None or error_code is not ErrorCode.NONE:
            code = error_code if log is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return ListOffsetsPartitionResponse(partition_index=key.partition, error_code=code)
        if asked.timestamp == LATEST_TIMESTAMP:
            offset = log.end_of(isolation)
        elif asked.timestamp == EARLIEST_TIMESTAMP:
            offset = log.log_start_offset
        else:
            young = (batch.first_offset for batch in log.batches if batch.timestamp_ms >= asked.timestamp)
            offset = next(young, -1)
        return ListOffsetsPartitionResponse(partition_index=key.partition, offset=offset)


def _remembered(
    memory: Mapping[str, MetadataResponseTopic], asked: MetadataRequestTopic
) -> MetadataResponseTopic:
    missing = MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=asked.name, topic_id=asked.topic_id
    )
    return missing if asked.name is None else memory.get(asked.name, missing)
