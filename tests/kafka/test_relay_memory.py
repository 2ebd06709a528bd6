"""What connections cost kproxy in memory, on real Kafka: many that are idle, and fifty that stream at full speed."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from tests.benchmarks.connection_memory import (
    ABOVE_IDLE,
    FETCH_BYTES,
    IDLE_CONNECTIONS,
    PER_PAIR,
    STREAM_RATE,
    IdleConnections,
    Streams,
    fetch_frame,
)
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration
from tests.real_kafka.administration import unique_name
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.kproxy_process import KproxyProcess

KPROXY: Final = Arm("kproxy", bootstrap_servers="", relay_process_id=None)
MOST_KB_PER_PAIR: Final = 10
MOST_MIB_OF_STREAMS: Final = 16
LEAST_MB_PER_SECOND: Final = 5
"""Far below what any machine does, and far above what would be no stream."""
STREAM_SECONDS: Final = 5.0
OPEN_FILES: Final = 4 * IDLE_CONNECTIONS


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """As many files as two ends of every connection take; kproxy, being a child, may open as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(OPEN_FILES, hard)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_an_idle_connection_pair_costs_at_most_10_kb(
    reference_cluster: KafkaCluster, many_open_files: None
) -> None:
    # Given
    idle = IdleConnections({KPROXY.name: lambda: _ready_kproxy(reference_cluster)})

    # When
    measured = idle.measure(KPROXY)

    # Then
    assert 0 < measured[PER_PAIR] <= MOST_KB_PER_PAIR


def test_fifty_streams_cost_at_most_16_mib(reference_cluster: KafkaCluster) -> None:
    # Given
    address = reference_cluster.bootstrap_servers
    topic = administration.create_topic(address, unique_name("topic"))
    administration.produce(address, topic, ["x" * 1024] * (2 * FETCH_BYTES // 1024))
    streams = Streams(
        {KPROXY.name: lambda: _ready_kproxy(reference_cluster)},
        fetch_frame(address, topic),
        seconds=STREAM_SECONDS,
    )

    # When
    measured = streams.measure(KPROXY)

    # Then
    assert measured[STREAM_RATE] > LEAST_MB_PER_SECOND
    assert measured[ABOVE_IDLE] <= MOST_MIB_OF_STREAMS


@contextmanager
def _ready_kproxy(cluster: KafkaCluster) -> Iterator[KproxyProcess]:
    with KproxyProcess(cluster.bootstrap_servers) as kproxy:
        kproxy.wait_until_ready()
        yield kproxy
