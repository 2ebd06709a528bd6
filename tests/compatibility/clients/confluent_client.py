"""confluent-kafka (librdkafka): the only client here that does all but Kafka's newest administration."""

import functools
import json
import time
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

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

FOLLOWED_BYTES: Final = 2_000_000


def _compression(ground: Ground, *, codec: str) -> None:
    topic = _new_topic(ground)
    sent = values(codec)
    _produce(ground, topic, sent, {"compression.type": codec, "linger.ms": 5})
    expect_values(_values_of(_consume(ground, topic, len(sent))), sent)


def _classic_group(ground: Ground) -> None:
    _resume_in_group(ground, {"partition.assignment.strategy": "cooperative-sticky"})


def _consumer_group(ground: Ground) -> None:
    _resume_in_group(ground, {"group.protocol": "consumer"})


def _idempotence(ground: Ground) -> None:
    topic = _new_topic(ground)
    sent = values("once")
    offsets = _produce(ground, topic, sent, {"enable.idempotence": True})
    expect_equal(offsets, list(range(len(sent))), "offsets")
    expect_values(_values_of(_consume(ground, topic, len(sent))), sent)


def _transactions(ground: Ground) -> None:
    source, target, group = _new_topic(ground), _new_topic(ground), ground.name("group")
    _produce(ground, source, values("in", 1))
    consumer = _group_consumer(ground, group, source, {})
    producer = Producer({**_settings(ground), "transactional.id": ground.name("transactional")})
    try:
        _poll(consumer, 1)
        producer.init_transactions(ANSWER_TIMEOUT_SECONDS)
        _write_transaction(producer, target, values("kept", 10))
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()),
            consumer.consumer_group_metadata(),
            ANSWER_TIMEOUT_SECONDS,
        )
        producer.commit_transaction(ANSWER_TIMEOUT_SECONDS)
        _write_transaction(producer, target, values("dropped", 10))
        producer.abort_transaction(ANSWER_TIMEOUT_SECONDS)
        _write_transaction(producer, target, values("also kept", 10))
        producer.commit_transaction(ANSWER_TIMEOUT_SECONDS)
    finally:
        consumer.close()
    kept, dropped = values("kept", 10), values("dropped", 10)
    committed = _consume(ground, target, 20, {"isolation.level": "read_committed"})
    expect_values(_values_of(committed), kept + values("also kept", 10))
    everything = _consume(ground, target, 30, {"isolation.level": "read_uncommitted"})
    expect_values(_values_of(everything), kept + dropped + values("also kept", 10))
    eventually(lambda: _committed_offset(ground, group, source) == 1, OFFSET_OF_A_TRANSACTION)


def _follower_fetching(ground: Ground) -> None:
    """Most of the bytes come from the follower in the consumer's rack, as the client's own statistics say."""
    topic = _new_topic(ground)
    leader = (
        _admin(ground).list_topics(topic, timeout=ANSWER_TIMEOUT_SECONDS).topics[topic].partitions[0].leader
    )
    follower = min(ground.node_ids - {leader})
    sent = [bytes([65 + number % 26]) * 20_000 for number in range(FOLLOWED_BYTES // 20_000)]
    _produce(ground, topic, sent)
    received: dict[str, int] = {}
    settings = {
        "client.rack": rack_of(follower),
        "statistics.interval.ms": 100,
        "stats_cb": functools.partial(_note_received_bytes, received),
        # Small fetches, so that what the leader says at first is a small part.
        "fetch.message.max.bytes": 100_000,
        "fetch.max.bytes": 100_000,
        "message.max.bytes": 100_000,
    }

    def is_all_told() -> bool:
        return sum(received.values()) > FOLLOWED_BYTES

    consumed = _consume(ground, topic, len(sent), settings, until=is_all_told)
    expect_values(_values_of(consumed), sent)
    expect(
        received.get(str(follower), 0) > FOLLOWED_BYTES / 2,
        f"node {follower} in the rack sent {received}, leader is {leader}",
    )


def _topics(ground: Ground) -> None:
    admin = _admin(ground)
    topic = _new_topic(ground, partitions=2)
    described = admin.list_topics(topic, timeout=ANSWER_TIMEOUT_SECONDS).topics[topic]
    expect_equal(len(described.partitions), 2, "partitions")
    expect_equal(len(described.partitions[0].replicas), ground.broker_count, "replicas")
    _result(admin.create_partitions([NewPartitions(topic, 3)]))
    eventually(lambda: len(admin.list_topics(topic).topics[topic].partitions) == 3, "3 partitions")
    _result(admin.delete_topics([topic]))
    eventually(lambda: topic not in admin.list_topics().topics, f"{topic} is deleted")


def _cluster(ground: Ground) -> None:
    described = _admin(ground).describe_cluster().result(ANSWER_TIMEOUT_SECONDS)
    expect_equal({node.id for node in described.nodes}, ground.node_ids, "node ids")
    told = {f"{node.host}:{node.port}" for node in described.nodes}
    metadata = _admin(ground).list_topics(timeout=ANSWER_TIMEOUT_SECONDS)
    expect_equal(told, {f"{broker.host}:{broker.port}" for broker in metadata.brokers.values()}, "addresses")
    expect_equal(described.cluster_id, metadata.cluster_id, "cluster id")
    expect({node.rack for node in described.nodes} <= {rack_of(node) for node in ground.node_ids}, "racks")


def _configs(ground: Ground) -> None:
    topic, admin = _new_topic(ground), _admin(ground)
    change = ConfigEntry("retention.ms", "123456", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    _result(admin.incremental_alter_configs([resource]))

    def is_changed() -> bool:
        return bool(_described(admin, ResourceType.TOPIC, topic)["retention.ms"].value == "123456")

    eventually(is_changed, "retention.ms is changed")
    for node_id in ground.node_ids:
        entries = _described(admin, ResourceType.BROKER, str(node_id))
        expect_equal(entries["broker.rack"].value, rack_of(node_id), "broker.rack")


def _groups(ground: Ground) -> None:
    topic, group, admin = _new_topic(ground), ground.name("group"), _admin(ground)
    _produce(ground, topic, values("x", 5))
    consumer = _group_consumer(ground, group, topic, {})
    try:
        _poll(consumer, 5)
        consumer.commit(asynchronous=False)
        listed = admin.list_consumer_groups().result(ANSWER_TIMEOUT_SECONDS)
        expect(group in {one.group_id for one in listed.valid}, f"{group} is listed")
        expect_equal(listed.errors, [], "errors of the list")
        described = _result(admin.describe_consumer_groups([group]))
        expect_equal(len(described.members), 1, "members")
        expect(described.coordinator.id in ground.node_ids, f"coordinator {described.coordinator}")
    finally:
        consumer.close()
    expect_equal(_committed_offset(ground, group, topic), 5, "committed offset")
    _result(admin.delete_consumer_groups([group]))
    eventually(lambda: not _is_listed(admin, group), f"{group} is deleted")


def _acls(ground: Ground) -> None:
    topic, admin = ground.name("guarded"), _admin(ground)
    pattern = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL)
    binding = AclBinding(*pattern, "User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)
    every = AclBindingFilter(*pattern, None, None, AclOperation.ANY, AclPermissionType.ANY)
    _result(admin.create_acls([binding]))
    eventually(
        lambda: admin.describe_acls(every).result(ANSWER_TIMEOUT_SECONDS) == [binding], "the ACL is listed"
    )
    expect_equal(_result(admin.delete_acls([every])), [binding], "deleted ACLs")
    eventually(lambda: not admin.describe_acls(every).result(ANSWER_TIMEOUT_SECONDS), "the ACL is gone")


def _resume_in_group(ground: Ground, settings: dict[str, Any]) -> None:
    """Two members share the partitions; one that comes after them goes on where they committed."""
    topic, group = _new_topic(ground, partitions=2), ground.name("group")
    first, second = (_group_consumer(ground, group, topic, settings) for _ in range(2))
    try:
        eventually(
            lambda: (
                _poll_both(first, second) and [len(first.assignment()), len(second.assignment())] == [1, 1]
            ),
            "each member has a partition",
        )
        for partition in range(2):
            _produce(ground, topic, values(f"p{partition}", 10), partition=partition)
        for consumer in (first, second):
            _poll(consumer, 10)
            consumer.commit(asynchronous=False)
    finally:
        first.close()
        second.close()
    _produce(ground, topic, values("later", 10))
    third = _group_consumer(ground, group, topic, settings)
    try:
        expect_values(_values_of(_poll(third, 10)), values("later", 10))
    finally:
        third.close()


def _settings(ground: Ground) -> dict[str, Any]:
    return {"bootstrap.servers": ground.bootstrap_servers}


def _admin(ground: Ground) -> AdminClient:
    return _admin_of(ground.bootstrap_servers)


@functools.cache
def _admin_of(bootstrap_servers: str) -> AdminClient:
    # A client has to outlive its futures.
    return AdminClient({"bootstrap.servers": bootstrap_servers})


def _new_topic(ground: Ground, partitions: int = 1) -> str:
    topic, admin = ground.name("confluent"), _admin(ground)
    new = NewTopic(topic, num_partitions=partitions, replication_factor=ground.broker_count)
    _result(admin.create_topics([new], operation_timeout=ANSWER_TIMEOUT_SECONDS))
    wait_until_known_everywhere(ground.bootstrap_servers, topic, partitions)
    return topic


def _produce(
    ground: Ground,
    topic: str,
    payloads: Sequence[bytes],
    settings: dict[str, Any] | None = None,
    *,
    partition: int = 0,
) -> list[int]:
    """The offsets of the records, in the order in which they were answered."""
    offsets: list[int] = []
    producer = Producer({**_settings(ground), "acks": "all", **(settings or {})})
    for payload in payloads:
        producer.produce(
            topic, value=payload, partition=partition, on_delivery=functools.partial(_note_offset, offsets)
        )
    expect_equal(producer.flush(ANSWER_TIMEOUT_SECONDS), 0, "records left unanswered")
    return offsets


def _write_transaction(producer: Producer, topic: str, payloads: Sequence[bytes]) -> None:
    producer.begin_transaction()
    for payload in payloads:
        producer.produce(topic, value=payload, partition=0)
    producer.flush(ANSWER_TIMEOUT_SECONDS)


def _consume(
    ground: Ground,
    topic: str,
    count: int,
    settings: dict[str, Any] | None = None,
    *,
    until: Any = lambda: True,
) -> list[Message]:
    """Read partition 0 from its beginning without a group; then go on polling until `until` is so."""
    consumer = Consumer({**_settings(ground), "group.id": "none", **(settings or {})})
    try:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        messages = _poll(consumer, count)
        eventually(lambda: consumer.poll(0.1) or until(), "statistics came")
    finally:
        consumer.close()
    return messages


def _group_consumer(ground: Ground, group: str, topic: str, settings: dict[str, Any]) -> Consumer:
    base = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**_settings(ground), **base, **settings})
    consumer.subscribe([topic])
    return consumer


def _poll(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    while len(messages) < count:
        message = consumer.poll(0.1)
        if message is not None and message.error() is not None:
            raise KafkaException(message.error())
        if message is not None:
            messages.append(message)
        if time.monotonic() > deadline:
            raise Unexpected(f"consumed {len(messages)} of {count} records")
    return messages


def _poll_both(first: Consumer, second: Consumer) -> bool:
    """Let both take part in a rebalance, while there is nothing to consume."""
    for consumer in (first, second):
        expect(consumer.poll(0.05) is None, "nothing is produced yet")
    return True


def _values_of(messages: Sequence[Message]) -> list[bytes]:
    return [message.value() for message in messages]


def _committed_offset(ground: Ground, group: str, topic: str) -> int:
    wanted = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    answer = _result(_admin(ground).list_consumer_group_offsets([wanted]))
    return int(answer.topic_partitions[0].offset)


def _is_listed(admin: AdminClient, group: str) -> bool:
    listed = admin.list_consumer_groups().result(ANSWER_TIMEOUT_SECONDS)
    return group in {one.group_id for one in listed.valid}


def _described(admin: AdminClient, kind: ResourceType, name: str) -> Any:
    return _result(admin.describe_configs([ConfigResource(kind, name)]))


def _result(futures: Any) -> Any:
    """The result of the only future of an answer."""
    (future,) = futures.values()
    return future.result(ANSWER_TIMEOUT_SECONDS)


def _note_offset(offsets: list[int], error: Any, message: Message) -> None:
    if error is not None:
        raise KafkaException(error)
    offsets.append(message.offset())


def _note_received_bytes(received: dict[str, int], statistics: str) -> None:
    for broker in json.loads(statistics)["brokers"].values():
        if broker["nodeid"] >= 0:
            received[str(broker["nodeid"])] = max(received.get(str(broker["nodeid"]), 0), broker["rxbytes"])


CHECKS: Final[dict[Scenario, Check]] = {
    **{codec: functools.partial(_compression, codec=codec.value) for codec in COMPRESSIONS},
    Scenario.CLASSIC_GROUP: _classic_group,
    Scenario.CONSUMER_GROUP: _consumer_group,
    Scenario.IDEMPOTENCE: _idempotence,
    Scenario.TRANSACTIONS: _transactions,
    Scenario.FOLLOWER_FETCHING: _follower_fetching,
    Scenario.TOPICS: _topics,
    Scenario.CLUSTER: _cluster,
    Scenario.CONFIGS: _configs,
    Scenario.GROUPS: _groups,
    Scenario.ACLS: _acls,
}

if __name__ == "__main__":
    run_probe(CHECKS)
