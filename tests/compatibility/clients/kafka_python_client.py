"""kafka-python: pure Python, with administration that goes beyond the others', without KIP-848."""

import functools
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import NoError

from tests.compatibility.backings import rack_of
from tests.compatibility.clients.probe import (
    ANSWER_TIMEOUT_SECONDS,
    OFFSET_OF_A_TRANSACTION,
    Check,
    Ground,
    Unexpected,
    eventually,
    expect,
    expect_equal,
    expect_values,
    run_probe,
    values,
)
from tests.compatibility.clients.propagation import wait_until_known_everywhere
from tests.compatibility.scenarios import COMPRESSIONS, Scenario

FOLLOWED_RECORD: Final = b"f" * 20_000
FOLLOWED_COUNT: Final = 100
POLL_TIMEOUT_MS: Final = 1000
"""Not much less: a poll that times out while a group is joined can lose the answer (kafka-python 3.0.12)."""


def _compression(ground: Ground, *, codec: str) -> None:
    topic = _new_topic(ground)
    sent = values(codec)
    _produce(ground, topic, sent, compression_type=None if codec == "none" else codec, linger_ms=5)
    expect_values(_consume(ground, topic, len(sent)), sent)


def _classic_group(ground: Ground) -> None:
    """Two members share the partitions; one that comes after them goes on where they committed."""
    topic, group = _new_topic(ground, partitions=2), ground.name("group")
    first, second = (_group_consumer(ground, group, topic) for _ in range(2))
    try:
        _balance(first, second)
        for partition in range(2):
            _produce(ground, topic, values(f"p{partition}", 10), partition=partition)
        for consumer in (first, second):
            _poll(consumer, 10)
            consumer.commit()
    finally:
        first.close()
        second.close()
    _produce(ground, topic, values("later", 10))
    third = _group_consumer(ground, group, topic)
    try:
        expect_values(_poll(third, 10), values("later", 10))
    finally:
        third.close()


def _idempotence(ground: Ground) -> None:
    topic = _new_topic(ground)
    sent = values("once")
    offsets = _produce(ground, topic, sent, enable_idempotence=True)
    expect_equal(offsets, list(range(len(sent))), "offsets")
    expect_values(_consume(ground, topic, len(sent)), sent)


def _transactions(ground: Ground) -> None:
    source, target, group = _new_topic(ground), _new_topic(ground), ground.name("group")
    kept, dropped = values("kept", 10), values("dropped", 10)
    producer = KafkaProducer(
        bootstrap_servers=ground.bootstrap_list, transactional_id=ground.name("transactional")
    )
    try:
        producer.init_transactions()
        _write_transaction(producer, target, kept)
        offsets = {TopicPartition(source, 0): OffsetAndMetadata(1, "", -1)}
        producer.send_offsets_to_transaction(offsets, group)
        producer.commit_transaction()
        _write_transaction(producer, target, dropped)
        producer.abort_transaction()
        _write_transaction(producer, target, kept)
        producer.commit_transaction()
    finally:
        producer.close()
    committed = _consume(ground, target, 20, isolation_level="read_committed")
    expect_values(committed, kept + kept)
    everything = _consume(ground, target, 30, isolation_level="read_uncommitted")
    expect_values(everything, kept + dropped + kept)
    admin, committed_at = _admin(ground), TopicPartition(source, 0)
    eventually(
        lambda: (
            [
                told.offset
                for at, told in admin.list_group_offsets({group: None})[group].items()
                if at == committed_at
            ]
            == [1]
        ),
        OFFSET_OF_A_TRANSACTION,
    )


def _follower_fetching(ground: Ground) -> None:
    """The follower in the consumer's rack sends more bytes than the leader, as the client's own metrics say."""
    topic = _new_topic(ground)
    leader = _described_topic(ground, topic)["partitions"][0]["leader_id"]
    follower = min(ground.node_ids - {leader})
    sent = [FOLLOWED_RECORD] * FOLLOWED_COUNT
    _produce(ground, topic, sent)
    consumer = KafkaConsumer(
        bootstrap_servers=ground.bootstrap_list,
        auto_offset_reset="earliest",
        client_rack=rack_of(follower),
        # Small fetches, so that what the leader says at first is a small part.
        fetch_max_bytes=100_000,
        max_partition_fetch_bytes=100_000,
        fetch_max_wait_ms=50,
    )
    try:
        consumer.assign([TopicPartition(topic, 0)])
        expect_values(_poll(consumer, len(sent)), sent)
        metrics = consumer.metrics()
        rates = {
            node_id: metrics.get(f"consumer-node-metrics.node-{node_id}", {}).get("incoming-byte-rate", 0)
            for node_id in (leader, follower)
        }
    finally:
        consumer.close()
    expect(rates[follower] > rates[leader], f"bytes per second {rates}, leader is {leader}")


def _topics(ground: Ground) -> None:
    topic, admin = _new_topic(ground, partitions=2), _admin(ground)
    described = _described_topic(ground, topic)
    expect_equal(len(described["partitions"]), 2, "partitions")
    expect_equal(len(described["partitions"][0]["replica_nodes"]), ground.broker_count, "replicas")
    admin.create_partitions({topic: 3})
    eventually(lambda: len(_described_topic(ground, topic)["partitions"]) == 3, "3 partitions")
    admin.delete_topics([topic])
    eventually(lambda: topic not in admin.list_topics(), f"{topic} is deleted")


def _cluster(ground: Ground) -> None:
    described = _admin(ground).describe_cluster()
    expect_equal({node["broker_id"] for node in described["brokers"]}, ground.node_ids, "node ids")
    racks = {node["broker_id"]: node["rack"] for node in described["brokers"]}
    expect_equal(racks, {node_id: rack_of(node_id) for node_id in ground.node_ids}, "racks")
    expect(described["cluster_id"], "a cluster id")


def _configs(ground: Ground) -> None:
    topic, admin = _new_topic(ground), _admin(ground)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "123456"})])

    def is_changed() -> bool:
        answer = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        return bool(answer["topic"][topic].get("retention.ms", {}).get("value") == "123456")

    eventually(is_changed, "retention.ms is changed")
    brokers = [ConfigResource(ConfigResourceType.BROKER, str(node_id)) for node_id in ground.node_ids]
    answer = admin.describe_configs(brokers, config_filter="all")["broker"]
    racks = {name: configs["broker.rack"]["value"] for name, configs in answer.items()}
    expect_equal(racks, {str(node_id): rack_of(node_id) for node_id in ground.node_ids}, "broker.rack")


def _groups(ground: Ground) -> None:
    topic, group, admin = _new_topic(ground), ground.name("group"), _admin(ground)
    _produce(ground, topic, values("x", 5))
    consumer = _group_consumer(ground, group, topic)
    try:
        _poll(consumer, 5)
        consumer.commit()
        expect(group in {one["group_id"] for one in admin.list_groups()}, f"{group} is listed")
        expect_equal(len(admin.describe_groups([group])[group]["members"]), 1, "members")
    finally:
        consumer.close()
    offsets = admin.list_group_offsets({group: None})[group]
    expect_equal(offsets[TopicPartition(topic, 0)].offset, 5, "committed offset")
    admin.delete_groups([group])
    eventually(lambda: group not in {one["group_id"] for one in admin.list_groups()}, f"{group} is deleted")


def _acls(ground: Ground) -> None:
    topic, admin = ground.name("guarded"), _admin(ground)
    pattern = (ResourceType.TOPIC, topic)
    acl = ACL("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(*pattern))
    every = ACLFilter(
        None,
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(*pattern, ACLResourcePatternType.LITERAL),
    )
    expect_equal(admin.create_acls([acl])["failed"], [], "refused ACLs")
    eventually(lambda: admin.describe_acls(every) == ([acl], NoError), "the ACL is listed")
    ((_, deleted, _),) = admin.delete_acls([every])
    expect_equal(deleted, [acl], "deleted ACLs")
    eventually(lambda: admin.describe_acls(every) == ([], NoError), "the ACL is gone")


def _log_dirs(ground: Ground) -> None:
    topic = _new_topic(ground)

    def are_told() -> bool:
        answers = _admin(ground).describe_log_dirs([topic])
        return ground.node_ids == {
            answer["broker"] for answer in answers for folder in answer["log_dirs"] if folder["topics"]
        }

    eventually(are_told, "every broker holds a replica")


def _reassignment(ground: Ground) -> None:
    topic, admin = _new_topic(ground), _admin(ground)
    _produce(ground, topic, values("moved"))
    goal = [2]
    answer = admin.alter_partition_reassignments({TopicPartition(topic, 0): goal})
    expect_equal(answer, {TopicPartition(topic, 0): None}, "answer")
    eventually(lambda: not admin.list_partition_reassignments([TopicPartition(topic, 0)]), "it is done")
    eventually(
        lambda: _described_topic(ground, topic)["partitions"][0]["replica_nodes"] == goal, "the replica moved"
    )
    expect_values(_consume(ground, topic, len(values("moved"))), values("moved"))


def _admin(ground: Ground) -> KafkaAdminClient:
    return _admin_of(ground.bootstrap_servers)


@functools.cache
def _admin_of(bootstrap_servers: str) -> KafkaAdminClient:
    return KafkaAdminClient(bootstrap_servers=bootstrap_servers.split(","))


def _new_topic(ground: Ground, partitions: int = 1) -> str:
    topic = ground.name("kafka-python")
    settings = {"num_partitions": partitions, "replication_factor": ground.broker_count}
    _admin(ground).create_topics({topic: settings})
    wait_until_known_everywhere(ground.bootstrap_servers, topic, partitions)
    return topic


def _described_topic(ground: Ground, topic: str) -> Any:
    (described,) = _admin(ground).describe_topics([topic])
    return described


def _produce(
    ground: Ground, topic: str, payloads: Sequence[bytes], *, partition: int = 0, **settings: Any
) -> list[int]:
    producer = KafkaProducer(
        bootstrap_servers=ground.bootstrap_list, **{"acks": "all", "enable_idempotence": False, **settings}
    )
    try:
        futures = [producer.send(topic, value=payload, partition=partition) for payload in payloads]
        return [future.get(ANSWER_TIMEOUT_SECONDS).offset for future in futures]
    finally:
        producer.close()


def _write_transaction(producer: KafkaProducer, topic: str, payloads: Sequence[bytes]) -> None:
    producer.begin_transaction()
    for future in [producer.send(topic, value=payload, partition=0) for payload in payloads]:
        future.get(ANSWER_TIMEOUT_SECONDS)


def _consume(ground: Ground, topic: str, count: int, **settings: Any) -> list[bytes]:
    consumer = KafkaConsumer(
        bootstrap_servers=ground.bootstrap_list, auto_offset_reset="earliest", **settings
    )
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return _poll(consumer, count)
    finally:
        consumer.close()


def _group_consumer(ground: Ground, group: str, topic: str) -> KafkaConsumer:
    return KafkaConsumer(
        topic,
        bootstrap_servers=ground.bootstrap_list,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )


def _poll(consumer: KafkaConsumer, count: int) -> list[bytes]:
    polled: list[bytes] = []
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    while len(polled) < count:
        for records in consumer.poll(timeout_ms=POLL_TIMEOUT_MS).values():
            polled.extend(record.value for record in records)
        if time.monotonic() > deadline:
            raise Unexpected(f"consumed {len(polled)} of {count} records")
    return polled


def _balance(*members: KafkaConsumer) -> None:
    """Let members take part in a rebalance until each has one partition, while there is nothing to consume.

    Each has a thread of its own: a poll does not return while the others are waited for.
    """
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS

    def are_balanced() -> bool:
        return all(len(member.assignment()) == 1 for member in members)

    def take_part(member: KafkaConsumer) -> None:
        while not are_balanced() and time.monotonic() < deadline:
            expect(not member.poll(timeout_ms=POLL_TIMEOUT_MS), "nothing is produced yet")

    with ThreadPoolExecutor(len(members)) as threads:
        for done in [threads.submit(take_part, member) for member in members]:
            done.result()
    expect(are_balanced(), "each member has a partition")


CHECKS: Final[dict[Scenario, Check]] = {
    **{codec: functools.partial(_compression, codec=codec.value) for codec in COMPRESSIONS},
    Scenario.CLASSIC_GROUP: _classic_group,
    Scenario.IDEMPOTENCE: _idempotence,
    Scenario.TRANSACTIONS: _transactions,
    Scenario.FOLLOWER_FETCHING: _follower_fetching,
    Scenario.TOPICS: _topics,
    Scenario.CLUSTER: _cluster,
    Scenario.CONFIGS: _configs,
    Scenario.GROUPS: _groups,
    Scenario.ACLS: _acls,
    Scenario.LOG_DIRS: _log_dirs,
    Scenario.REASSIGNMENT: _reassignment,
}

if __name__ == "__main__":
    run_probe(CHECKS)
