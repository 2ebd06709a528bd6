"""Members that read one byte a second hold little of kproxy's memory, and nobody else up."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Final

from confluent_kafka import Producer

from tests.real_kafka.accounts import receive_values
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import ANSWER_TIMEOUT_SECONDS, RawConnection
from tests.real_kafka.raw_share_member import RawShareMember
from tests.real_kafka.share_endpoint import ShareEndpoint
from tests.real_kafka.share_members import ConfluentShareMember
from tests.real_kafka.watched_memory import watched_memory

MIB: Final = 1024 * 1024
SLOW_MEMBERS: Final = 20
RECORDS_OF_EACH: Final = 10
RECORD_BYTES: Final = 200_000
RECORDS: Final = SLOW_MEMBERS * RECORDS_OF_EACH
"""40 MB, which the slow members ask for all at once."""
BUDGET_BYTES: Final = 8 * MIB
ALLOWANCE_BYTES: Final = 24 * MIB
"""Beside the budget, what a batch that is larger than what is left of it, and the rest of the process take."""
RECEIVE_BUFFER_BYTES: Final = 4_096


def test_members_that_read_a_byte_a_second_cost_the_budget_at_most_and_hold_up_nobody(
    reference_cluster: KafkaCluster,
) -> None:
    # Given
    settings = {"kproxy.max.buffered.bytes": BUDGET_BYTES}
    with KproxyProcess(reference_cluster.bootstrap_servers, settings=settings) as kproxy:
        kproxy.wait_until_ready()
        endpoint = ShareEndpoint(kproxy.bootstrap_servers, reference_cluster, kproxy)
        topic = endpoint.new_topic()
        _fill(endpoint.bootstrap_servers, topic)
        assert len(_consumed(endpoint, topic)) == RECORDS  # so that what everybody needs is in memory
        idle_bytes = kproxy.resident_bytes()
        with watched_memory(kproxy) as seen_bytes, _slow_members(endpoint, topic):
            # When
            consumed = _consumed(endpoint, topic)

    # Then
    assert len(consumed) == RECORDS
    assert max(seen_bytes) - idle_bytes < ALLOWANCE_BYTES


def _fill(bootstrap_servers: str, topic: str) -> None:
    """One record a batch: what is left of the budget decides how many of them an answer has."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "batch.num.messages": 1})
    for _ in range(RECORDS):
        producer.produce(topic, value=b"x" * RECORD_BYTES, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0


def _consumed(endpoint: ShareEndpoint, topic: str) -> list[str | None]:
    group = endpoint.new_group()
    with ConfluentShareMember(endpoint.bootstrap_servers, group=group, topics=[topic]) as member:
        return receive_values(member, RECORDS, polls=400)


@contextmanager
def _slow_members(endpoint: ShareEndpoint, topic: str) -> Iterator[None]:
    """Let each ask for its records, and read a byte of the answer a second until the block ends."""
    kproxy, group = endpoint.kproxy, endpoint.new_group()
    assert kproxy is not None
    connections: list[RawConnection] = []
    have_begun, is_over = threading.Event(), threading.Event()

    def connect(address: str) -> RawConnection:
        connections.append(RawConnection(address, receive_buffer_bytes=RECEIVE_BUFFER_BYTES))
        return connections[-1]

    def read() -> None:
        # An event that nobody sets keeps the pace.
        while not is_over.wait(1.0):
            for connection in connections:
                assert connection.receive_some(1), "kproxy has closed a connection that is read slowly"
            have_begun.set()

    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        for number in range(SLOW_MEMBERS):
            member = RawShareMember(
                kproxy.broker_addresses[1],
                group=group,
                topic=topic,
                member_id=f"slow-{number}",
                connect=connect,
            )
            stack.enter_context(member)
            member.join()
            member.send_fetch(max_wait_ms=1_000, max_records=RECORDS_OF_EACH)
        loop = threads.submit(read)
        try:
            assert have_begun.wait(ANSWER_TIMEOUT_SECONDS), loop.result()
            yield
        finally:
            is_over.set()
            loop.result()
