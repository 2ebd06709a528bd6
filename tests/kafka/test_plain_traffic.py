"""Clients that know nothing of share groups work through kproxy as they do without, while a share group runs."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tests.kafka.altered_groups import wait_until_altered, wait_until_described
from tests.real_kafka import accounts, administration, kafka_python_clients, tools
from tests.real_kafka.accounts import values_by_id
from tests.real_kafka.administration import unique_name
from tests.real_kafka.everyday import for_soak
from tests.real_kafka.share_endpoint import (
    KPROXY_OLDEST,
    KPROXY_REFERENCE,
    KPROXY_WITHOUT_SHARE_GROUPS,
    EndpointsOfSession,
    ShareEndpoint,
)
from tests.real_kafka.share_members import ConfluentShareMember

TIMEOUT_SECONDS: Final = 60.0
RECORDS_OF_EACH: Final = 50
COMPRESSIONS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

everywhere = pytest.mark.parametrize(
    "behind", [KPROXY_REFERENCE, for_soak(KPROXY_WITHOUT_SHARE_GROUPS), KPROXY_OLDEST]
)


@everywhere
def test_three_kinds_of_clients_and_a_share_group_produce_and_consume_through_one_port(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    bootstrap_servers = endpoint.bootstrap_servers
    topic, group = endpoint.new_topic(partitions=2), endpoint.new_group()
    values = {
        client: [f"{client} {number}" for number in range(RECORDS_OF_EACH)]
        for client in ("confluent-kafka", "kafka-python", "java")
    }
    all_values = Counter(value for of_client in values.values() for value in of_client)
    count = all_values.total()
    with (
        ConfluentShareMember(bootstrap_servers, group=group, topics=[topic]) as member,
        tools.console_consumer(bootstrap_servers, topic, max_messages=count) as java,
        ThreadPoolExecutor() as threads,
    ):
        by_confluent = threads.submit(administration.consume, bootstrap_servers, topic, count)
        by_kafka_python = threads.submit(kafka_python_clients.consume, bootstrap_servers, topic, count)
        # It polls while a JVM starts that produces.
        by_member = threads.submit(accounts.receive_values, member, count, polls=240)

        # When
        threads.submit(administration.produce, bootstrap_servers, topic, values["confluent-kafka"])
        threads.submit(kafka_python_clients.produce, bootstrap_servers, topic, values["kafka-python"])
        tools.console_producer(bootstrap_servers, topic, values["java"])

        # Then
        assert Counter(by_confluent.result()) == all_values
        assert Counter(by_kafka_python.result()) == all_values
        assert Counter(by_member.result()) == all_values
        assert Counter(java.finish().lines) == all_values


@everywhere
def test_records_of_every_compression_are_consumed_by_a_share_group(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    produced = {}
    for compression in COMPRESSIONS:
        values = [f"{compression} {number} " + "x" * 200 for number in range(20)]
        offsets = administration.produce(
            endpoint.bootstrap_servers, topic, values, client_settings={"compression.type": compression}
        )
        produced.update({(0, offset): value for offset, value in zip(offsets, values, strict=True)})

    # When
    with ConfluentShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        received = accounts.receive_all(member, produced)

    # Then
    assert values_by_id(received) == produced


@everywhere
def test_a_consumer_group_goes_on_where_it_committed(share_endpoint: EndpointsOfSession, behind: str) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), unique_name("consumers")
    administration.produce(endpoint.bootstrap_servers, topic, "abcdef")
    first_values = _values_of_a_group_member(endpoint, group, topic, count=3)

    # When
    more_values = _values_of_a_group_member(endpoint, group, topic, count=3)

    # Then
    assert first_values == ["a", "b", "c"]
    assert more_values == ["d", "e", "f"]
    admin = _admin(endpoint)
    listed = admin.list_consumer_groups().result(TIMEOUT_SECONDS)
    assert group in {of_group.group_id for of_group in listed.valid}


@everywhere
def test_a_transaction_commits_or_aborts_with_the_offsets_it_consumed(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    source, target, group = endpoint.new_topic(), endpoint.new_topic(), unique_name("consumers")
    administration.produce(endpoint.bootstrap_servers, source, "abc")
    producer = Producer(
        {"bootstrap.servers": endpoint.bootstrap_servers, "transactional.id": unique_name("transactional")}
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    with _group_member(endpoint, group, source) as consumer:
        taken = _polled_values(consumer, 3)

        # When
        producer.begin_transaction()
        producer.produce(target, b"aborted")
        producer.flush(TIMEOUT_SECONDS)
        producer.abort_transaction(TIMEOUT_SECONDS)
        producer.begin_transaction()
        producer.produce(target, b"committed")
        producer.send_offsets_to_transaction(
            consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), TIMEOUT_SECONDS
        )
        producer.commit_transaction(TIMEOUT_SECONDS)

        # Then
        [committed] = consumer.committed(consumer.assignment(), TIMEOUT_SECONDS)
    assert taken == ["a", "b", "c"]
    assert administration.consume(endpoint.bootstrap_servers, target, 1) == ["committed"]
    assert committed.offset == 3


@everywhere
def test_a_share_group_passes_the_markers_of_transactions(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic, group = endpoint.new_topic(), endpoint.new_group()
    producer = Producer(
        {"bootstrap.servers": endpoint.bootstrap_servers, "transactional.id": unique_name("transactional")}
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    for number in range(3):
        producer.begin_transaction()
        producer.produce(topic, f"transaction {number}".encode())
        producer.commit_transaction(TIMEOUT_SECONDS)

    # When
    with ConfluentShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        received = accounts.receive_values(member, 3)

    # Then
    assert received == ["transaction 0", "transaction 1", "transaction 2"]
    after, last = accounts.received_after_the_end(
        ConfluentShareMember, endpoint.bootstrap_servers, group=group, topic=topic
    )
    assert after == last


@everywhere
def test_topics_are_created_described_and_deleted_through_kproxy(
    share_endpoint: EndpointsOfSession, behind: str
) -> None:
    # Given
    endpoint = share_endpoint(behind)
    topic = unique_name("topic")
    create = ["--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1"]

    # When
    tools.topic_command(endpoint.bootstrap_servers, *create)

    # Then
    described = tools.topic_command(endpoint.bootstrap_servers, "--describe", "--topic", topic)
    assert "PartitionCount: 3" in described.lines[0]
    admin = _admin(endpoint)
    admin.delete_topics([topic])[topic].result(TIMEOUT_SECONDS)
    assert topic not in tools.topic_command(endpoint.bootstrap_servers, "--list").lines


def test_the_configs_of_a_group_are_kproxys_share_keys_and_the_brokers_other_keys(
    share_endpoint: EndpointsOfSession,
) -> None:
    # Given
    endpoint, group = share_endpoint(KPROXY_REFERENCE), unique_name("group")
    settings = {"share.record.lock.duration.ms": "20000", "consumer.session.timeout.ms": "50000"}

    # When
    administration.set_group_settings(endpoint.bootstrap_servers, group, settings)

    # Then
    of_broker = {"consumer.session.timeout.ms": settings["consumer.session.timeout.ms"]}
    wait_until_described(endpoint.cluster.bootstrap_servers, group, of_broker)
    through_kproxy = _group_configs(endpoint.bootstrap_servers, group)
    at_the_broker = _group_configs(endpoint.cluster.bootstrap_servers, group)
    assert through_kproxy["share.record.lock.duration.ms"] == "20000"
    assert through_kproxy["share.auto.offset.reset"] == "latest"
    assert through_kproxy["consumer.session.timeout.ms"] == "50000"
    assert at_the_broker["consumer.session.timeout.ms"] == "50000"
    assert at_the_broker.get("share.record.lock.duration.ms") != "20000"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("share.record.lock.duration.ms", "14999"),
        ("share.record.lock.duration.ms", "60001"),
        ("share.auto.offset.reset", "tomorrow"),
        ("share.no.such.key", "1"),
        ("consumer.no.such.key", "1"),
    ],
)
def test_a_group_config_out_of_range_or_unknown_is_refused(
    share_endpoint: EndpointsOfSession, key: str, value: str
) -> None:
    # Given
    endpoint, group = share_endpoint(KPROXY_REFERENCE), unique_name("group")

    # When
    with pytest.raises(KafkaException) as refusal:
        administration.set_group_settings(endpoint.bootstrap_servers, group, {key: value})

    # Then
    assert refusal.value.args[0].name() == "INVALID_CONFIG"


def test_java_sets_and_reads_group_configs_through_kproxy(share_endpoint: EndpointsOfSession) -> None:
    # Given
    endpoint, group = share_endpoint(KPROXY_REFERENCE), unique_name("group")
    of_group = ["--entity-type", "groups", "--entity-name", group]
    added = "share.auto.offset.reset=earliest,consumer.heartbeat.interval.ms=6000"

    # When
    tools.config_command(endpoint.bootstrap_servers, "--alter", *of_group, "--add-config", added)

    # Then
    wait_until_altered(endpoint.bootstrap_servers, ["--alter", *of_group, "--add-config", added])
    described = tools.config_command(endpoint.bootstrap_servers, "--describe", *of_group)
    written = "\n".join(described.lines)
    assert "share.auto.offset.reset=earliest" in written
    assert "consumer.heartbeat.interval.ms=6000" in written


def _admin(endpoint: ShareEndpoint) -> AdminClient:
    """A client that has to be kept until its answers are there."""
    return AdminClient({"bootstrap.servers": endpoint.bootstrap_servers})


def _group_configs(bootstrap_servers: str, group: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.GROUP, group)
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    entries = admin.describe_configs([resource])[resource].result(TIMEOUT_SECONDS)
    return {name: entry.value for name, entry in entries.items()}


def _group_member(endpoint: ShareEndpoint, group: str, topic: str) -> "closing[Consumer]":
    consumer = Consumer(
        {
            "bootstrap.servers": endpoint.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    return closing(consumer)


def _values_of_a_group_member(endpoint: ShareEndpoint, group: str, topic: str, *, count: int) -> list[str]:
    """Let a new member consume `count` records, commit and leave."""
    with _group_member(endpoint, group, topic) as consumer:
        values = _polled_values(consumer, count)
        consumer.commit(asynchronous=False)
    return values


def _polled_values(consumer: Consumer, count: int) -> list[str]:
    values: list[str] = []
    for _ in range(int(TIMEOUT_SECONDS / 0.2)):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            values.append(message.value().decode())
        if len(values) == count:
            return values
    raise AssertionError(f"consumed only {values} of {count} records")
