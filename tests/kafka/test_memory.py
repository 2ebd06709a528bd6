"""kproxy holds no more than it has to: a slow reader among fast ones costs hardly any memory."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Final

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess
from tests.real_kafka.raw_connection import RawConnection
from tests.real_kafka.watched_memory import watched_memory

MIB: Final = 1024 * 1024
RECORD_BYTES: Final = MIB // 2
RECORDS: Final = 600
"""300 MiB in all."""
STREAMING_CLIENTS: Final = 10
SLOW_BYTES_PER_SECOND: Final = MIB
SLOW_READ_BYTES: Final = 64 * 1024
FRAME_BYTES: Final = 200 * MIB
"""Of the response that the slow client asks for: one frame, far above the allowance."""
ALLOWANCE_BYTES: Final = 64 * MIB
FETCH_VERSION: Final = 12
STREAM_TIMEOUT_SECONDS: Final = 120.0


@pytest.fixture(scope="module")
def roomy_cluster() -> Iterator[KafkaCluster]:
    """Its broker answers a fetch with as much as is asked for."""
    with KafkaCluster(broker_settings={"fetch.max.bytes": FRAME_BYTES}, heap="1g") as cluster:
        yield cluster


@pytest.mark.soak
def test_a_slow_reader_beside_ten_fast_ones_costs_less_than_64_mib(roomy_cluster: KafkaCluster) -> None:
    # Given
    topic = administration.create_topic(roomy_cluster.bootstrap_servers, unique_name("topic"))
    _fill(roomy_cluster.bootstrap_servers, topic)
    with KproxyProcess(roomy_cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        idle_bytes = kproxy.resident_bytes()
        with (
            watched_memory(kproxy) as seen_bytes,
            _slow_reader(kproxy, topic) as slowly_read_bytes,
            ThreadPoolExecutor(STREAMING_CLIENTS) as threads,
        ):
            # When
            streams = [
                threads.submit(_stream, kproxy.bootstrap_servers, topic) for _ in range(STREAMING_CLIENTS)
            ]
            streamed = [stream.result() for stream in streams]

        # Then
        passed_bytes = kproxy.metrics().value("kproxy_bytes_total", side="client", direction="out")
    assert streamed == [RECORDS] * STREAMING_CLIENTS
    assert passed_bytes > STREAMING_CLIENTS * RECORDS * RECORD_BYTES
    assert slowly_read_bytes
    assert max(seen_bytes) - idle_bytes < ALLOWANCE_BYTES


def _fill(bootstrap_servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_servers, "message.max.bytes": 2 * RECORD_BYTES})
    for number in range(RECORDS):
        producer.produce(topic, value=number.to_bytes(8, "big") * (RECORD_BYTES // 8), partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0


def _stream(bootstrap_servers: str, topic: str) -> int:
    """Read the whole topic as fast as it comes; how many records."""
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": "none",
        "fetch.message.max.bytes": 8 * MIB,
        "queued.max.messages.kbytes": 16 * 1024,
    }
    count, deadline = 0, time.monotonic() + STREAM_TIMEOUT_SECONDS
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        while count < RECORDS and time.monotonic() < deadline:
            messages = consumer.consume(50, timeout=1.0)
            count += sum(message.error() is None for message in messages)
    return count


@contextmanager
def _slow_reader(kproxy: KproxyProcess, topic: str) -> Iterator[list[int]]:
    """Ask for everything in one response and read 1 MiB of it a second until the block ends; the bytes of each read."""
    partition = FetchPartition(partition=0, partition_max_bytes=FRAME_BYTES)
    request = FetchRequest(max_bytes=FRAME_BYTES, topics=[FetchTopic(topic=topic, partitions=[partition])])
    read_bytes: list[int] = []
    is_over = threading.Event()
    with (
        RawConnection(kproxy.broker_addresses[1], receive_buffer_bytes=SLOW_READ_BYTES) as connection,
        ThreadPoolExecutor() as threads,
    ):
        connection.send_request(ApiKey.FETCH, FETCH_VERSION, request)
        announced_bytes = int.from_bytes(connection.receive_bytes(4), "big")
        assert announced_bytes > FRAME_BYTES // 2

        def read() -> None:
            # An event that nobody sets keeps the pace.
            while not is_over.wait(SLOW_READ_BYTES / SLOW_BYTES_PER_SECOND):
                read_bytes.append(len(connection.receive_bytes(SLOW_READ_BYTES)))

        loop = threads.submit(read)
        try:
            yield read_bytes
        finally:
            is_over.set()
            loop.result()
