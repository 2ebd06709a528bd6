"""Every request that would read, write, make, end or configure a topic, or that would take it into a transaction.

Each is about one topic alone; with its versions, both ends inclusive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import Message
from kproxy.wire.messages import add_partitions_to_txn_request as addition
from kproxy.wire.messages import alter_configs_request as legacy
from kproxy.wire.messages import alter_share_group_offsets_request as share_alteration
from kproxy.wire.messages import create_partitions_request as extension
from kproxy.wire.messages import create_topics_request as making
from kproxy.wire.messages import delete_records_request as truncation
from kproxy.wire.messages import delete_share_group_offsets_request as share_deletion
from kproxy.wire.messages import delete_topics_request as deletion
from kproxy.wire.messages import describe_share_group_offsets_request as share_description
from kproxy.wire.messages import fetch_request as fetch
from kproxy.wire.messages import incremental_alter_configs_request as alteration
from kproxy.wire.messages import list_offsets_request as offsets
from kproxy.wire.messages import offset_for_leader_epoch_request as epochs
from kproxy.wire.messages import produce_request as produce
from kproxy.wire.messages import share_group_heartbeat_request as heartbeat
from kproxy.wire.messages import write_txn_markers_request as markers
from kproxy.wire.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from kproxy.wire.messages.end_txn_request import EndTxnRequest
from kproxy.wire.messages.init_producer_id_request import InitProducerIdRequest

GROUP: Final = "team-of-nobody"
TOPIC_RESOURCE: Final = 2
RECORDS: Final = b"no batch"
FIRST_DELETION_BY_ID: Final = 6
FIRST_OF_SEVERAL_TRANSACTIONS: Final = 4


@dataclass(frozen=True, slots=True)
class Closed:
    """A topic by its name and its id, and a transactional id that belongs to it."""

    name: str
    topic_id: bytes

    @property
    def transactional_id(self) -> str:
        return f"{self.name}-0"


def _produce(topic: Closed) -> Message:
    part = produce.PartitionProduceData(0, RECORDS)
    return produce.ProduceRequest(
        acks=1, topic_data=[produce.TopicProduceData(topic.name, topic.topic_id, [part])]
    )


def _fetch(topic: Closed) -> Message:
    part = fetch.FetchPartition(0, partition_max_bytes=1000)
    return fetch.FetchRequest(topics=[fetch.FetchTopic(topic.name, topic.topic_id, [part])])


def _delete(topic: Closed) -> Message:
    by_id = deletion.DeleteTopicState(None, topic.topic_id)
    return deletion.DeleteTopicsRequest([by_id], [topic.name])


def _add_partitions(topic: Closed) -> Message:
    named = [addition.AddPartitionsToTxnTopic(topic.name, [0])]
    return addition.AddPartitionsToTxnRequest(
        transactions=[addition.AddPartitionsToTxnTransaction("t", topics=named)],
        v3_and_below_transactional_id="t",
        v3_and_below_topics=named,
    )


def _write_markers(topic: Closed) -> Message:
    named = markers.WritableTxnMarkerTopic(topic.name, [0])
    return markers.WriteTxnMarkersRequest([markers.WritableTxnMarker(1, topics=[named])])


REQUESTS: Final[Mapping[int, Callable[[Closed], Message]]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: lambda topic: offsets.ListOffsetsRequest(
        topics=[offsets.ListOffsetsTopic(topic.name, [offsets.ListOffsetsPartition(0)])]
    ),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda topic: epochs.OffsetForLeaderEpochRequest(
        topics=[epochs.OffsetForLeaderTopic(topic.name, [epochs.OffsetForLeaderPartition(0)])]
    ),
    ApiKey.CREATE_TOPICS: lambda topic: making.CreateTopicsRequest([making.CreatableTopic(topic.name, 1, 1)]),
    ApiKey.DELETE_TOPICS: _delete,
    ApiKey.DELETE_RECORDS: lambda topic: truncation.DeleteRecordsRequest(
        [truncation.DeleteRecordsTopic(topic.name, [truncation.DeleteRecordsPartition(0, 0)])]
    ),
    ApiKey.CREATE_PARTITIONS: lambda topic: extension.CreatePartitionsRequest(
        [extension.CreatePartitionsTopic(topic.name, 99)]
    ),
    ApiKey.ALTER_CONFIGS: lambda topic: legacy.AlterConfigsRequest(
        [legacy.AlterConfigsResource(TOPIC_RESOURCE, topic.name)]
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda topic: alteration.IncrementalAlterConfigsRequest(
        [alteration.AlterConfigsResource(TOPIC_RESOURCE, topic.name)]
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.WRITE_TXN_MARKERS: _write_markers,
    ApiKey.INIT_PRODUCER_ID: lambda topic: InitProducerIdRequest(topic.transactional_id, 60_000),
    ApiKey.ADD_OFFSETS_TO_TXN: lambda topic: AddOffsetsToTxnRequest(topic.transactional_id, 1, 0, GROUP),
    ApiKey.END_TXN: lambda topic: EndTxnRequest(topic.transactional_id, 1, 0),
    ApiKey.SHARE_GROUP_HEARTBEAT: lambda topic: heartbeat.ShareGroupHeartbeatRequest(
        GROUP, "m", 0, None, [topic.name]
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: lambda topic: share_description.DescribeShareGroupOffsetsRequest(
        [
            share_description.DescribeShareGroupOffsetsRequestGroup(
                GROUP, [share_description.DescribeShareGroupOffsetsRequestTopic(topic.name, [0])]
            )
        ]
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: lambda topic: share_alteration.AlterShareGroupOffsetsRequest(
        GROUP,
        [
            share_alteration.AlterShareGroupOffsetsRequestTopic(
                topic.name, [share_alteration.AlterShareGroupOffsetsRequestPartition(0, 0)]
            )
        ],
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: lambda topic: share_deletion.DeleteShareGroupOffsetsRequest(
        GROUP, [share_deletion.DeleteShareGroupOffsetsRequestTopic(topic.name)]
    ),
}
"""By API key. ShareFetch and ShareAcknowledge need a session, and are asked by themselves."""


def request(api_key: int, version: int, topic: Closed) -> Message:
    """Return the request as a client of this version makes it."""
    message = REQUESTS[api_key](topic)
    if isinstance(message, deletion.DeleteTopicsRequest):
        is_by_id = version >= FIRST_DELETION_BY_ID
        return replace(
            message,
            topics=message.topics if is_by_id else [],
            topic_names=[] if is_by_id else message.topic_names,
        )
    if isinstance(message, addition.AddPartitionsToTxnRequest):
        if version >= FIRST_OF_SEVERAL_TRANSACTIONS:
            return addition.AddPartitionsToTxnRequest(message.transactions)
        return replace(message, transactions=[])
    return message


def versions(api_key: int) -> range:
    """Return the versions that can be asked."""
    oldest, newest = codecs.valid_versions(api_key)
    return range(oldest, newest + 1)
