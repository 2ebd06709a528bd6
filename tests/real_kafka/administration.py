"""What a test asks of a cluster with confluent-kafka, through a broker or through kproxy alike."""

import itertools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

ANSWER_TIMEOUT_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.05

ClientSettings: TypeAlias = Mapping[str, str | int]

_name_numbers: Final = itertools.count(1)


class NotInTime(RuntimeError):
    """The cluster did not come to the state that was waited for."""


def unique_name(label: str) -> str:
    """A name of a topic or group that no other test of this process uses."""
    return f"{label}-{os.getpid()}-{next(_name_numbers)}"


def create_topic(
    bootstrap_servers: str,
    name: str,
    *,
    partitions: int = 1,
    replicas: int = 1,
    topic_settings: Mapping[str, str] | None = None,
    client_settings: ClientSettings | None = None,
) -> str:
    """Create a topic and wait until every partition has a leader; the name, for convenience."""
    admin = _admin(bootstrap_servers, client_settings)
    topic = NewTopic(
        name, num_partitions=partitions, replication_factor=replicas, config=dict(topic_settings or {})
    )
    admin.create_topics([topic], operation_timeout=ANSWER_TIMEOUT_SECONDS)[name].result(
        ANSWER_TIMEOUT_SECONDS
    )
    _partitions_with_leaders(admin, name, at_least=partitions)
    return name


def set_group_settings(
    bootstrap_servers: str,
    group: str,
    settings: Mapping[str, str],
    *,
    client_settings: ClientSettings | None = None,
) -> None:
    """Set configs of a GROUP resource, such as `share.auto.offset.reset`; the group need not exist."""
    _set(_admin(bootstrap_servers, client_settings), ResourceType.GROUP, group, settings)


def set_topic_settings(bootstrap_servers: str, topic: str, settings: Mapping[str, str]) -> None:
    """Set configs of a topic."""
    _set(_admin(bootstrap_servers, None), ResourceType.TOPIC, topic, settings)


def produce(
    bootstrap_servers: str,
    topic: str,
    values: Iterable[str],
    *,
    partition: int = 0,
    client_settings: ClientSettings | None = None,
) -> list[int]:
    """Produce `values` to one partition, each acknowledged by all replicas; their offsets in order.

    They are one batch, unless they are too many: the flush behind the last one ends the lingering.
    """
    producer = Producer({**_settings(bootstrap_servers, client_settings), "acks": "all", "linger.ms": 5_000})
    return produce_with(producer, topic, values, partition=partition)


def idempotent_producer(bootstrap_servers: str) -> Producer:
    """A producer that writes nothing twice, though it sends again what a leader took before it left."""
    return Producer({"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 5})


def produce_with(producer: Producer, topic: str, values: Iterable[str], *, partition: int = 0) -> list[int]:
    """Produce `values` to one partition and wait until all are answered; their offsets in order."""
    offsets: list[int] = []
    refusals: list[str] = []

    def note(error: KafkaError | None, message: object) -> None:
        if error is not None:
            refusals.append(str(error))
        else:
            offsets.append(message.offset())  # type: ignore[attr-defined]  # the client publishes no types

    for value in values:
        producer.produce(topic, value=value.encode(), partition=partition, on_delivery=note)
        producer.poll(0)
    left = producer.flush(ANSWER_TIMEOUT_SECONDS)
    if refusals or left:
        raise NotInTime(f"{left} records not answered, {len(refusals)} refused: {refusals[:1]}")
    return offsets


def consume(
    bootstrap_servers: str, topic: str, count: int, *, client_settings: ClientSettings | None = None
) -> list[str]:
    """Consume `count` values of a topic from its beginning, without a group."""
    partitions = _partitions_with_leaders(_admin(bootstrap_servers, client_settings), topic)
    consumer = Consumer({**_settings(bootstrap_servers, client_settings), "group.id": "none"})
    try:
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        return _consumed_values(consumer, count)
    finally:
        consumer.close()


def end_offset(
    bootstrap_servers: str, topic: str, partition: int, *, client_settings: ClientSettings | None = None
) -> int:
    """The offset after the last record of a partition."""
    settings = {**_settings(bootstrap_servers, client_settings), "group.id": "none"}
    consumer = Consumer(settings)
    try:
        _, end = consumer.get_watermark_offsets(
            TopicPartition(topic, partition), timeout=ANSWER_TIMEOUT_SECONDS
        )
    finally:
        consumer.close()
    return int(end)


def topics(bootstrap_servers: str) -> set[str]:
    """The names of all topics."""
    return set(_admin(bootstrap_servers, None).list_topics(timeout=ANSWER_TIMEOUT_SECONDS).topics)


def leader_of(bootstrap_servers: str, topic: str, partition: int) -> int:
    """The node id of a partition's leader, once each partition up to this one has one."""
    admin = _admin(bootstrap_servers, None)
    _partitions_with_leaders(admin, topic, at_least=partition + 1)
    # The client has just heard of it, and asks the same broker.
    metadata = admin.list_topics(topic, timeout=ANSWER_TIMEOUT_SECONDS)
    return int(metadata.topics[topic].partitions[partition].leader)


def cluster_id(bootstrap_servers: str) -> str:
    """The id of the cluster."""
    return str(_admin(bootstrap_servers, None).list_topics(timeout=ANSWER_TIMEOUT_SECONDS).cluster_id)


def wait_until_brokers_are_listed(
    addresses: Sequence[str], deadline: float, *, client_settings: ClientSettings | None = None
) -> None:
    """Return when each of `addresses` lists as many brokers as there are addresses.

    `deadline` is in seconds of the monotonic clock; raises `NotInTime` when it passes. A broker that has
    started may not have heard of another one yet.
    """
    for address in addresses:
        admin = _admin(address, client_settings)
        while len(admin.list_topics(timeout=ANSWER_TIMEOUT_SECONDS).brokers) < len(addresses):
            if time.monotonic() > deadline:
                raise NotInTime(f"{address} does not list {len(addresses)} brokers")
            time.sleep(POLL_SECONDS)


def _partitions_with_leaders(admin: AdminClient, topic: str, *, at_least: int = 1) -> list[int]:
    # A broker that has just started may not have heard yet of a topic that exists, or of its leaders.
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    while True:
        known = admin.list_topics(timeout=ANSWER_TIMEOUT_SECONDS).topics.get(topic)
        partitions = known.partitions if known else {}
        if len(partitions) >= at_least and all(partition.leader >= 0 for partition in partitions.values()):
            return sorted(partitions)
        if time.monotonic() > deadline:
            raise NotInTime(f"topic {topic} has no leaders: {partitions}")
        time.sleep(POLL_SECONDS)


def _set(admin: AdminClient, kind: ResourceType, name: str, settings: Mapping[str, str]) -> None:
    """Set configs of a resource. The client has to outlive its futures."""
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in settings.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    for answer in admin.incremental_alter_configs([resource]).values():
        answer.result(ANSWER_TIMEOUT_SECONDS)


def _consumed_values(consumer: Consumer, count: int) -> list[str]:
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    values: list[str] = []
    while len(values) < count:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        if time.monotonic() > deadline:
            raise NotInTime(f"consumed {len(values)} of {count} records")
    return values


def _admin(bootstrap_servers: str, client_settings: ClientSettings | None) -> AdminClient:
    return AdminClient(_settings(bootstrap_servers, client_settings))


def _settings(bootstrap_servers: str, client_settings: ClientSettings | None) -> dict[str, str | int]:
    return {"bootstrap.servers": bootstrap_servers, **(client_settings or {})}
