"""Requests of some dozen bytes and answers of some hundred: what each costs a relay, and what the way adds to it."""

import selectors
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tests.benchmarks.comparison import Quantity, percentile
from tests.benchmarks.frame_connection import FrameConnection, request_frame
from tests.benchmarks.process_accounting import cpu_use
from tests.benchmarks.record_streams import PARTITIONS
from tests.benchmarks.workload import Arm

CONNECTIONS: Final = 10
IN_FLIGHT: Final = 16
"""Requests that a connection sends ahead of their answers."""
LATEST_OFFSET: Final = -1

CPU_PER_REQUEST: Final = Quantity("relay CPU", "µs/request", 1)
REQUEST_RATE: Final = Quantity("rate", "requests/s", 0)
MEDIAN_LATENCY: Final = Quantity("latency p50", "µs", 0)
LATE_LATENCY: Final = Quantity("latency p99", "µs", 0)


def metadata_frame(topic: str) -> bytes:
    """Ask for one topic: kproxy holds the answer and changes addresses in it."""
    message = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    return request_frame(ApiKey.METADATA, 12, message)


def list_offsets_frame(topic: str) -> bytes:
    """Ask for the ends of a topic's partitions: kproxy lets both directions through."""
    partitions = [
        ListOffsetsPartition(partition_index=number, timestamp=LATEST_OFFSET) for number in range(PARTITIONS)
    ]
    message = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=partitions)])
    return request_frame(ApiKey.LIST_OFFSETS, 7, message)


class OneAtATime:
    """Requests on one connection, each sent when the answer to the one before is there."""

    def __init__(self, label: str, frame: bytes, *, count: int) -> None:
        self.name = f"{label}, one at a time"
        self._frame = frame
        self._count = count

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        with FrameConnection(arm.bootstrap_servers) as connection:
            connection.exchange(self._frame)
            with cpu_use(arm.relay_process_id) as relay:
                latencies = [self._latency(connection) for _ in range(self._count)]
        return _figures(latencies, relay.seconds)

    def _latency(self, connection: FrameConnection) -> float:
        sent = time.perf_counter()
        connection.exchange(self._frame)
        return time.perf_counter() - sent


class Pipelined:
    """Requests on ten connections, sixteen in flight on each."""

    def __init__(self, label: str, frame: bytes, *, count: int) -> None:
        self.name = f"{label}, {CONNECTIONS} x {IN_FLIGHT} in flight"
        self._frame = frame
        self._count_each = count // CONNECTIONS

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        with _pipelines(arm.bootstrap_servers, self._frame, self._count_each) as pipelines:
            with cpu_use(arm.relay_process_id) as relay:
                started = time.perf_counter()
                _run(pipelines)
                elapsed = time.perf_counter() - started
            latencies = [latency for pipeline in pipelines for latency in pipeline.latencies]
        return {**_figures(latencies, relay.seconds), REQUEST_RATE: len(latencies) / elapsed}


class _Pipeline:
    """One of the connections."""

    __slots__ = ("_frame", "_left", "_sent", "connection", "latencies")

    def __init__(self, connection: FrameConnection, frame: bytes, count: int) -> None:
        self.connection = connection
        self.latencies: list[float] = []
        self._frame = frame
        self._left = count
        self._sent: deque[float] = deque()

    @property
    def is_done(self) -> bool:
        return not self._sent

    def send(self, count: int) -> None:
        count = min(count, self._left)
        if count:
            self._left -= count
            self._sent.extend([time.perf_counter()] * count)
            self.connection.socket.sendall(self._frame * count)

    def receive(self) -> None:
        count = self.connection.receive()
        now = time.perf_counter()
        self.latencies += [now - self._sent.popleft() for _ in range(count)]
        self.send(count)


@contextmanager
def _pipelines(address: str, frame: bytes, count_each: int) -> Iterator[Sequence[_Pipeline]]:
    with ExitStack() as opened:
        connections = [opened.enter_context(FrameConnection(address)) for _ in range(CONNECTIONS)]
        yield [_Pipeline(connection, frame, count_each) for connection in connections]


def _run(pipelines: Sequence[_Pipeline]) -> None:
    with selectors.DefaultSelector() as selector:
        for pipeline in pipelines:
            selector.register(pipeline.connection, selectors.EVENT_READ, pipeline)
            pipeline.send(IN_FLIGHT)
        while selector.get_map():
            for key, _events in selector.select():
                key.data.receive()
                if key.data.is_done:
                    selector.unregister(key.fileobj)


def _figures(latencies: Sequence[float], relay_seconds: float) -> dict[Quantity, float]:
    figures = {
        MEDIAN_LATENCY: percentile(latencies, 50) * 1e6,
        LATE_LATENCY: percentile(latencies, 99) * 1e6,
    }
    # No relay, no CPU of one.
    return {**figures, CPU_PER_REQUEST: relay_seconds / len(latencies) * 1e6} if relay_seconds else figures
