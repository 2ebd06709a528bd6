"""Brokers stop and start again while clients run: share groups and plain clients go on, and nothing is lost."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer

from tests.real_kafka import accounts
from tests.real_kafka.accounts import RecordId, misaccounted, received_after_the_end
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.consumption import Delivery, Enough, accept, consume_together, settled
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.share_endpoint import SHORT_LOCK_MS, ShareEndpoint
from tests.real_kafka.share_member import ReceivedRecord, ShareMember
from tests.real_kafka.share_members import MEMBER_KINDS, ConfluentShareMember, ShareMemberFactory

PARTITIONS: Final = 6
TIMEOUT_SECONDS: Final = 120.0

REPLICATED_STATE: Final = {
    "share.coordinator.state.topic.replication.factor": 3,
    "share.coordinator.state.topic.min.isr": 2,
}
"""As by default: where the state log has one replica, groups wait for the broker that has it."""


@pytest.fixture(scope="module")
def three_brokers() -> Iterator[ShareEndpoint]:
    """A kproxy in front of three brokers that the tests may restart."""
    with KafkaCluster(brokers=3) as cluster, running_kproxy(cluster, REPLICATED_STATE) as kproxy:
        yield ShareEndpoint(kproxy.bootstrap_servers, cluster, kproxy)


@pytest.fixture(scope="module")
def one_broker() -> Iterator[ShareEndpoint]:
    """A kproxy in front of a broker that the tests may restart."""
    with KafkaCluster() as cluster, running_kproxy(cluster) as kproxy:
        yield ShareEndpoint(kproxy.bootstrap_servers, cluster, kproxy)


@contextmanager
def running_kproxy(
    cluster: KafkaCluster, settings: Mapping[str, int] | None = None
) -> Iterator[KproxyProcess]:
    with KproxyProcess(cluster.bootstrap_servers, node_ids=cluster.node_ids, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy


def test_a_share_group_goes_on_while_one_of_three_brokers_restarts(three_brokers: ShareEndpoint) -> None:
    # Given
    endpoint = three_brokers
    topic, group = (
        endpoint.new_topic(partitions=PARTITIONS, replicas=3),
        endpoint.new_group(lock_ms=SHORT_LOCK_MS),
    )
    with ExitStack() as stack:
        members = [
            stack.enter_context(start_member(endpoint.bootstrap_servers, group=group, topics=[topic]))
            for start_member in MEMBER_KINDS.values()
        ]
        first = produce(endpoint, topic, "before")
        deliveries = consume_together(members, accept, until=settled(len(first)))
        with ThreadPoolExecutor() as threads:
            # When
            restart = threads.submit(_restart_broker, endpoint.cluster, 2)

            # Then
            during = produce(endpoint, topic, "during")
            deliveries += consume_together(
                members, accept, until=finished(endpoint, group, during), timeout_seconds=TIMEOUT_SECONDS
            )
            restart.result()
        after = produce(endpoint, topic, "after")
        deliveries += consume_together(
            members, accept, until=finished(endpoint, group, after), timeout_seconds=TIMEOUT_SECONDS
        )
    assert misaccounted(deliveries, first | during | after, are_settled=True) == {}
    received, last = received_after_the_end(
        ConfluentShareMember, endpoint.bootstrap_servers, group=group, topic=topic, partitions=PARTITIONS
    )
    assert received == last


@pytest.mark.parametrize("start_member", MEMBER_KINDS.values(), ids=MEMBER_KINDS)
def test_a_share_group_goes_on_after_its_only_broker_was_down(
    one_broker: ShareEndpoint, start_member: ShareMemberFactory
) -> None:
    # Given
    endpoint = one_broker
    topic, group = endpoint.new_topic(), endpoint.new_group(lock_ms=SHORT_LOCK_MS)
    before = accounts.produce_to_every_partition(endpoint.bootstrap_servers, topic, each=30, batches=3)
    with start_member(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        deliveries = consume_together([member], accept, until=settled(len(before)))
        with polling(member):
            # When
            _restart_broker(endpoint.cluster, 1)

        # Then
        after = accounts.produce_to_every_partition(
            endpoint.bootstrap_servers, topic, each=30, batches=3, label="after"
        )
        deliveries += consume_together(
            [member], accept, until=settled(len(after)), timeout_seconds=TIMEOUT_SECONDS
        )
    assert misaccounted(deliveries, before | after) == {}


def test_plain_clients_go_on_after_their_only_broker_was_down(one_broker: ShareEndpoint) -> None:
    # Given
    endpoint, topic = one_broker, one_broker.new_topic()
    settings = {"bootstrap.servers": endpoint.bootstrap_servers}
    producer = Producer({**settings, "enable.idempotence": True})
    with closing(
        Consumer({**settings, "group.id": unique_name("consumers"), "auto.offset.reset": "earliest"})
    ) as consumer:
        consumer.subscribe([topic])
        produce_one(producer, topic, b"before")
        values = [_next_value(consumer)]

        # When
        _restart_broker(endpoint.cluster, 1)

        # Then
        produce_one(producer, topic, b"after")
        values.append(_next_value(consumer))
    assert values == [b"before", b"after"]


def produce(endpoint: ShareEndpoint, topic: str, label: str) -> dict[RecordId, str]:
    return accounts.produce_to_every_partition(
        endpoint.bootstrap_servers, topic, partitions=PARTITIONS, each=20, batches=2, label=label
    )


def finished(endpoint: ShareEndpoint, group: str, produced: Mapping[RecordId, str]) -> Enough:
    """Enough when each of `produced` was accepted, whatever was answered, and kproxy says that nothing is left.

    The answer of an acceptance may be lost with the connection that it was to come on, or with that of the append
    to the state log: it has taken effect then, or its record comes again.
    """

    def is_enough(deliveries: Sequence[Delivery]) -> bool:
        accepted = {(delivery.record.partition, delivery.record.offset) for delivery in deliveries}
        return produced.keys() <= accepted and is_nothing_left(endpoint, group)

    return is_enough


def is_nothing_left(endpoint: ShareEndpoint, group: str) -> bool:
    assert endpoint.kproxy is not None
    lags = endpoint.kproxy.lags(group)
    return len(lags) == PARTITIONS and set(lags.values()) == {0}


def produce_one(producer: Producer, topic: str, value: bytes) -> None:
    producer.produce(topic, value, partition=0)
    assert producer.flush(TIMEOUT_SECONDS) == 0


def _next_value(consumer: Consumer) -> bytes:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            value: bytes = message.value()
            return value
    raise AssertionError("no record came")


def _restart_broker(cluster: KafkaCluster, node_id: int) -> None:
    cluster.stop_broker(node_id)
    cluster.start_broker(node_id)


@contextmanager
def polling(member: ShareMember) -> Iterator[None]:
    """Let `member` poll, and get nothing, until the block ends."""
    is_over = threading.Event()

    def poll() -> list[ReceivedRecord]:
        received: list[ReceivedRecord] = []
        while not is_over.is_set():
            received += member.poll()
        return received

    with ThreadPoolExecutor() as threads:
        polled = threads.submit(poll)
        try:
            yield
        finally:
            is_over.set()
    assert polled.result() == []
