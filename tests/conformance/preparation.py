"""What a case needs before it begins, over the wire: topics, records, configurations. Nothing of it is compared."""

import time
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import uuid4

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kproxy.wire.messages.create_topics_response import CreateTopicsResponse
from kproxy.wire.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kproxy.wire.messages.delete_records_response import DeleteRecordsResponse
from kproxy.wire.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kproxy.wire.messages.describe_configs_response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.find_coordinator_response import FindCoordinatorResponse
from kproxy.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kproxy.wire.messages.offset_commit_response import OffsetCommitResponse
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record, decode_records
from tests.conformance.member import MAX_BYTES, Topic
from tests.in_memory.record_batch_bytes import record_batch
from tests.real_kafka.raw_connection import RawConnection

GROUP_RESOURCE: Final = 32
GROUP_SOURCE: Final = 8
"""Of a configuration that was set of a group."""
SET: Final = 0
CREATE_VERSION: Final = 5
METADATA_VERSION: Final = 12
PRODUCE_VERSION: Final = 9
CONFIGS_VERSION: Final = 1
FETCH_VERSION: Final = 11
DELETE_VERSION: Final = 1
FIND_COORDINATOR_VERSION: Final = 4
GROUP_KEY: Final = 0
TRANSACTIONAL_ID: Final = 1
COMMIT_VERSION: Final = 8
LIST_OFFSETS_VERSION: Final = 2
LATEST: Final = -1
NOT_YET: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""What a broker says until the topic of its coordinator exists and is loaded."""
ALL_REPLICAS: Final = -1
TIMEOUT_MS: Final = 30_000


class Refused(AssertionError):
    """What a case needs was refused. `error_code` is the answer's."""

    def __init__(self, what: str, error_code: int, message: str | None) -> None:
        super().__init__(f"{what}: {ErrorCode(error_code).name}: {message}")
        self.error_code = error_code


def create_topic(
    connection: RawConnection, name: str, *, partitions: int = 1, settings: Mapping[str, str] | None = None
) -> Topic:
    """Create a topic; broker 1 leads its partitions when this returns."""
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in (settings or {}).items()]
    led_by_first = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in range(partitions)
    ]
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=led_by_first, configs=configs
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
    answer = connection.ask(ApiKey.CREATE_TOPICS, CREATE_VERSION, request, CreateTopicsResponse)
    [created] = answer.topics
    if created.error_code:
        raise Refused(f"create topic {name}", created.error_code, created.error_message)
    found = known_topic(connection, name, partitions=partitions)
    for partition in range(partitions):
        _wait_for_leader(connection, found, partition)
    return found


def _wait_for_leader(connection: RawConnection, topic: Topic, partition: int) -> None:
    """Return when the broker leads the partition: its metadata says so a moment before."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        try:
            end_offset(connection, topic, partition=partition)
        except Refused as refused:
            if refused.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def known_topic(connection: RawConnection, name: str, *, partitions: int) -> Topic:
    """The topic, as soon as the broker knows it with so many partitions and a leader of each."""
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    while True:
        answer = connection.ask(ApiKey.METADATA, METADATA_VERSION, request, MetadataResponse)
        [topic] = answer.topics
        led = [partition for partition in topic.partitions if partition.leader_id >= 0]
        if not topic.error_code and len(led) == partitions:
            return Topic(name, topic.topic_id, partitions)
        assert time.monotonic() < deadline, topic
        time.sleep(0.02)


def find_coordinator(connection: RawConnection, name: str, *, key_type: int = GROUP_KEY) -> int:
    """Return the node id of its coordinator; a cluster where nobody asked before makes the topic for it now."""
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[name])
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        answer = connection.ask(
            ApiKey.FIND_COORDINATOR, FIND_COORDINATOR_VERSION, request, FindCoordinatorResponse
        )
        if not answer.coordinators[0].error_code:
            return answer.coordinators[0].node_id
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)


def is_known(connection: RawConnection, name: str) -> bool:
    """Whether the broker has a topic of this name."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    answer = connection.ask(ApiKey.METADATA, METADATA_VERSION, request, MetadataResponse)
    return not answer.topics[0].error_code


def alter_group_configs(connection: RawConnection, group: str, values: Mapping[str, str]) -> None:
    """Set configurations of a group; the broker goes by them when this returns."""
    _alter_and_see(connection, group, values)
    wait_until_applied(connection)


def wait_until_applied(connection: RawConnection) -> None:
    """Return when the broker goes by every configuration that it shows.

    It shows a change some moments before it goes by it, and the next one when it goes by those before.
    """
    _alter_and_see(connection, f"nobody-{uuid4()}", {"share.auto.offset.reset": "earliest"})


def _alter_and_see(connection: RawConnection, group: str, values: Mapping[str, str]) -> None:
    """Set configurations of a group; the broker shows them when this returns."""
    configs = [AlterableConfig(name=key, config_operation=SET, value=value) for key, value in values.items()]
    resource = AlterConfigsResource(resource_type=GROUP_RESOURCE, resource_name=group, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer = connection.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, CONFIGS_VERSION, request, IncrementalAlterConfigsResponse
    )
    [altered] = answer.responses
    if altered.error_code:
        raise Refused(f"set {dict(values)} of group {group}", altered.error_code, altered.error_message)
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while values.items() - described_group_configs(connection, group, list(values)).items():
        assert time.monotonic() < deadline, f"group {group} does not show {values}"
        time.sleep(0.02)


def described_group_configs(connection: RawConnection, group: str, keys: Sequence[str]) -> dict[str, str]:
    """The values of these keys."""
    return {each.name: each.value or "" for each in _described_configs(connection, group, keys)}


def is_group_config(connection: RawConnection, group: str, key: str, value: str | None) -> bool:
    """Whether the group has this value of its own, or (None) no value of its own."""
    described = _described_configs(connection, group, [key])
    return [each.value for each in described if each.config_source == GROUP_SOURCE] == (
        [] if value is None else [value]
    )


def produce(
    connection: RawConnection,
    topic: Topic,
    values: Sequence[str],
    *,
    partition: int = 0,
    timestamp_ms: int | None = None,
) -> int:
    """Append one record batch; its first offset. Records are of this moment unless a timestamp is given."""
    now_ms = time.time_ns() // 1_000_000 if timestamp_ms is None else timestamp_ms
    batch = record_batch(0, [value.encode() for value in values], timestamp_ms=now_ms)
    return produce_bytes(connection, topic, batch, partition=partition)


def produce_bytes(
    connection: RawConnection,
    topic: Topic,
    batch: bytes,
    *,
    partition: int = 0,
    transactional_id: str | None = None,
) -> int:
    """Append a record batch; its first offset."""
    data = TopicProduceData(
        name=topic.name, partition_data=[PartitionProduceData(index=partition, records=batch)]
    )
    request = ProduceRequest(
        transactional_id=transactional_id, acks=ALL_REPLICAS, timeout_ms=TIMEOUT_MS, topic_data=[data]
    )
    answer = connection.ask(ApiKey.PRODUCE, PRODUCE_VERSION, request, ProduceResponse)
    [written] = answer.responses[0].partition_responses
    if written.error_code:
        raise Refused(f"produce to {topic.name}", written.error_code, written.error_message)
    return written.base_offset


def produce_keyed(connection: RawConnection, topic: Topic, keys: Sequence[str], *, timestamp_ms: int) -> None:
    """Append one record batch to partition 0, a record of each key."""
    batch = build_batch(
        [Record(key.encode(), f"{number}".encode()) for number, key in enumerate(keys)],
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        timestamp_ms=timestamp_ms,
    )
    produce_bytes(connection, topic, batch)


def first_offsets(connection: RawConnection, topic: Topic) -> list[int]:
    """The offsets of the records in the first segment of partition 0."""
    return [record.offset for record in first_records(connection, topic)]


def first_records(connection: RawConnection, topic: Topic, *, partition: int = 0) -> list[Record]:
    """The records in the first segment of a partition."""
    wanted = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=MAX_BYTES)
    request = FetchRequest(topics=[FetchTopic(topic=topic.name, partitions=[wanted])])
    answer = connection.ask(ApiKey.FETCH, FETCH_VERSION, request, FetchResponse)
    [fetched] = answer.responses[0].partitions
    if fetched.error_code:
        raise Refused(f"fetch {topic.name}", fetched.error_code, None)
    return decode_records(memoryview(fetched.records or b"")).records


def end_offset(connection: RawConnection, topic: Topic, *, partition: int = 0) -> int:
    """The offset after the last record of a partition, markers of transactions included."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic.name, partitions=[asked])]
    )
    answer = connection.ask(ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, request, ListOffsetsResponse)
    [found] = answer.topics[0].partitions
    if found.error_code:
        raise Refused(f"find the end of {topic.name}", found.error_code, None)
    return found.offset


def commit_offset(connection: RawConnection, group: str, topic: Topic) -> None:
    """Commit an offset as a consumer without members: the group is a classic one from then on."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic.name, partitions=[partition])],
    )
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        answer = connection.ask(ApiKey.OFFSET_COMMIT, COMMIT_VERSION, request, OffsetCommitResponse)
        error_code = answer.topics[0].partitions[0].error_code
        if not error_code:
            return
        if error_code not in NOT_YET or time.monotonic() > deadline:
            raise Refused(f"commit an offset of {group}", error_code, None)
        time.sleep(0.02)


def delete_records(connection: RawConnection, topic: Topic, *, before: int) -> None:
    """Cut the log of partition 0, so that it begins at this offset."""
    partition = DeleteRecordsPartition(partition_index=0, offset=before)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic.name, partitions=[partition])], timeout_ms=TIMEOUT_MS
    )
    answer = connection.ask(ApiKey.DELETE_RECORDS, DELETE_VERSION, request, DeleteRecordsResponse)
    [cut] = answer.topics[0].partitions
    if cut.error_code:
        raise Refused(f"delete records of {topic.name}", cut.error_code, None)


def _described_configs(
    connection: RawConnection, group: str, keys: Sequence[str]
) -> list[DescribeConfigsResourceResult]:
    resource = DescribeConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group, configuration_keys=list(keys)
    )
    request = DescribeConfigsRequest(resources=[resource])
    answer = connection.ask(ApiKey.DESCRIBE_CONFIGS, CONFIGS_VERSION, request, DescribeConfigsResponse)
    [described] = answer.results
    return described.configs
