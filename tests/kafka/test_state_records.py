"""Our state records beside Kafka's: its formatter prints them, its share coordinator writes the same."""

import json
from typing import Any, Final

import pytest

from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.state_records import (
    Claim,
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    StateTombstone,
    decode_state_record,
    encode_state_record,
)
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kproxy.wire.messages.produce_response import ProduceResponse
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record
from tests.real_kafka import administration, worked_example
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.tools import console_consumer
from tests.real_kafka.worked_example import CLUSTER_SETTINGS, GOLDEN_FILE

FORMATTER: Final = "org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter"
PRODUCE_VERSION: Final = 9
KEY: Final = SharePartitionKey(GroupId("gs1"), TopicId(bytes(15) + b"\x01"), 3)
ALICE: Final = Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1", ((100, 105),))
STATE_RECORDS: Final[tuple[StateRecord, ...]] = (
    Claim("pod-1", 1),
    ShareSnapshot(KEY, SnapshotEpoch(1), StateEpoch(2), LeaderEpoch(3), 100, 4, 5, 6, ()),
    ShareUpdate(
        *(KEY, SnapshotEpoch(1), LeaderEpoch(3), 100, 6),
        (StateBatch(100, 105, RecordState.ACKNOWLEDGED, 2),),
    ),
    StateTombstone(KEY),
)


def test_kafkas_own_formatter_prints_our_records_and_passes_over_our_claim(
    reference_cluster: KafkaCluster,
) -> None:
    # Given
    bootstrap_servers = reference_cluster.bootstrap_servers
    topic = administration.create_topic(bootstrap_servers, administration.unique_name("state"))
    records = [encode_state_record(record, claim_epoch=0, actors=[ALICE]) for record in STATE_RECORDS]
    _append(reference_cluster.broker_address(1), topic, records)

    # When
    arguments = ("--from-beginning", "--formatter", FORMATTER)
    with console_consumer(bootstrap_servers, topic, max_messages=len(records), arguments=arguments) as tool:
        written = "".join(tool.finish().lines)

    # Then
    printed = [json.loads(document) for document in written.replace("}{", "}\n{").splitlines()]
    key = {"groupId": "gs1", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partition": 3}
    batch = {"firstOffset": 100, "lastOffset": 105, "deliveryState": 2, "deliveryCount": 2}
    snapshot = {"snapshotEpoch": 1, "stateEpoch": 2, "leaderEpoch": 3, "startOffset": 100}
    snapshot |= {"deliveryCompleteCount": 6, "createTimestamp": 4, "writeTimestamp": 5}
    update = {"snapshotEpoch": 1, "leaderEpoch": 3, "startOffset": 100, "deliveryCompleteCount": 6}
    assert printed == [
        {"key": {"type": 0, "data": key}, "value": {"version": 0, "data": {**snapshot, "stateBatches": []}}},
        {
            "key": {"type": 1, "data": key},
            "value": {"version": 0, "data": {**update, "stateBatches": [batch]}},
        },
        {"key": {"type": 0, "data": key}, "value": None},
    ]


@pytest.mark.soak
def test_the_stock_share_coordinator_still_writes_the_golden_records_of_the_worked_example() -> None:
    # Given
    golden = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))

    # When
    with KafkaCluster(share_groups=True, broker_settings=CLUSTER_SETTINGS) as cluster:
        played = json.loads(worked_example.golden_file(worked_example.play(cluster)))

    # Then
    assert _comparable(played) == _comparable(golden)


def _comparable(golden: dict[str, Any]) -> list[tuple[str, list[dict[str, object]]]]:
    """What does not change from run to run: not the topic's id, nor timestamps."""
    return [(step["step"], [_written(record) for record in step["records"]]) for step in golden["steps"]]


def _written(record: dict[str, Any]) -> dict[str, object]:
    decoded = decode_state_record(Record(bytes.fromhex(record["key"]), bytes.fromhex(record["value"]))).record
    changing = {"key", "create_timestamp_ms", "write_timestamp_ms"}
    fields = {name: getattr(decoded, name) for name in decoded.__slots__ if name not in changing}
    return {"type": type(decoded).__name__, "offset": record["offset"], **fields}


def _append(address: str, topic: str, records: list[Record]) -> None:
    """Write `records` with our own batch builder, acknowledged by all replicas."""
    batch = build_batch(
        records, producer_id=-1, producer_epoch=-1, base_sequence=-1, timestamp_ms=1_700_000_000_000
    )
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])]
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=data)
    with RawConnection(address) as connection:
        answer = connection.ask(ApiKey.PRODUCE, PRODUCE_VERSION, request, ProduceResponse)
    [partition] = answer.responses[0].partition_responses
    assert (partition.error_code, partition.base_offset) == (0, 0), partition
