"""What connections cost a relay in memory: many that are idle, and some that carry all they can."""

import selectors
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Final, Protocol, TypeAlias

from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kproxy.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.benchmarks.comparison import Quantity
from tests.benchmarks.frame_connection import FrameConnection, request_frame
from tests.benchmarks.process_accounting import cpu_use, resident_bytes
from tests.benchmarks.workload import Arm
from tests.real_kafka.raw_connection import RawConnection

IDLE_CONNECTIONS: Final = 1_000
STREAMS: Final = 50
FETCH_BYTES: Final = 1024 * 1024
FETCH_VERSION: Final = 16
"""What librdkafka 2.16 sends, too; from this version on kproxy looks for broker addresses in the responses."""
UNREAD_REQUESTS: Final = 8
SAMPLE_SECONDS: Final = 0.02

PER_PAIR: Final = Quantity("memory per connection pair", "kB", 2)
IDLE_MEMORY: Final = Quantity("memory without connections", "MiB", 1)
ABOVE_IDLE: Final = Quantity("memory above idle", "MiB", 1)
STREAM_RATE: Final = Quantity("rate", "MB/s", 0)
STREAM_CPU: Final = Quantity("relay CPU", "s/GB", 3)


class RunningRelay(Protocol):
    """A relay of its own for one measurement."""

    @property
    def process_id(self) -> int: ...

    @property
    def bootstrap_servers(self) -> str: ...


FreshRelays: TypeAlias = Mapping[str, Callable[[], AbstractContextManager[RunningRelay]]]
"""By the name of an arm: starts a relay that nobody has used yet."""


class IdleConnections:
    """A thousand connections that have introduced themselves and say nothing more."""

    name: Final = f"{IDLE_CONNECTIONS} idle connections"

    def __init__(self, relays: FreshRelays) -> None:
        self._relays = relays

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        with self._relays[arm.name]() as relay, ExitStack() as opened:
            idle = _idle_bytes(relay)
            for _ in range(IDLE_CONNECTIONS):
                opened.enter_context(FrameConnection(relay.bootstrap_servers))
            grown = resident_bytes(relay.process_id) - idle
        return {PER_PAIR: grown / IDLE_CONNECTIONS / 1000, IDLE_MEMORY: idle / 2**20}


class Streams:
    """Fifty connections that fetch a mebibyte after the other from one partition, as fast as they can."""

    name: Final = f"{STREAMS} streams"

    def __init__(self, relays: FreshRelays, frame: bytes, *, seconds: float) -> None:
        self._relays = relays
        self._frame = frame
        self._seconds = seconds

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        with self._relays[arm.name]() as relay:
            idle, watch = _idle_bytes(relay), _MemoryWatch(relay.process_id)
            with _streams(relay.bootstrap_servers, self._frame) as streams, cpu_use(relay.process_id) as cpu:
                started = time.perf_counter()
                _read_all(streams, watch, until=started + self._seconds)
                elapsed = time.perf_counter() - started
            received = sum(stream.connection.received_bytes for stream in streams)
        return {
            ABOVE_IDLE: (watch.highest_bytes - idle) / 2**20,
            STREAM_RATE: received / elapsed / 1e6,
            STREAM_CPU: cpu.seconds / received * 1e9,
        }


class UnreadStreams:
    """The worst for buffers: fifty connections that ask for eight mebibytes each and do not read."""

    name: Final = f"{STREAMS} unread streams"

    def __init__(self, relays: FreshRelays, frame: bytes, *, seconds: float) -> None:
        self._relays = relays
        self._frame = frame
        self._seconds = seconds

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        with self._relays[arm.name]() as relay:
            idle, watch = _idle_bytes(relay), _MemoryWatch(relay.process_id)
            with _streams(relay.bootstrap_servers, self._frame * UNREAD_REQUESTS):
                until = time.perf_counter() + self._seconds
                while time.perf_counter() < until:
                    watch.look()
                    time.sleep(SAMPLE_SECONDS)
        return {ABOVE_IDLE: (watch.highest_bytes - idle) / 2**20}


def fetch_frame(direct_address: str, topic: str) -> bytes:
    """Ask for the first mebibyte of partition 0 of `topic`, without a fetch session."""
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=FETCH_BYTES)
    message = FetchRequest(
        max_bytes=FETCH_BYTES,
        topics=[FetchTopic(topic_id=_topic_id(direct_address, topic), partitions=[partition])],
    )
    return request_frame(ApiKey.FETCH, FETCH_VERSION, message)


def _topic_id(address: str, topic: str) -> bytes:
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    with RawConnection(address) as connection:
        answer = connection.ask(ApiKey.METADATA, 12, asked, MetadataResponse)
    return answer.topics[0].topic_id


def _idle_bytes(relay: RunningRelay) -> int:
    """Memory once a first client has been there: what is loaded for the first is no cost of the others."""
    FrameConnection(relay.bootstrap_servers).close()
    return resident_bytes(relay.process_id)


class _Stream:
    __slots__ = ("connection", "frame")

    def __init__(self, connection: FrameConnection, frame: bytes) -> None:
        self.connection = connection
        self.frame = frame

    def receive(self) -> None:
        for _ in range(self.connection.receive()):
            self.connection.socket.sendall(self.frame)


@contextmanager
def _streams(address: str, frame: bytes) -> Iterator[Sequence[_Stream]]:
    with ExitStack() as opened:
        streams = [_Stream(opened.enter_context(FrameConnection(address)), frame) for _ in range(STREAMS)]
        for stream in streams:
            stream.connection.socket.sendall(frame)
        yield streams


def _read_all(streams: Sequence[_Stream], watch: "_MemoryWatch", *, until: float) -> None:
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.connection, selectors.EVENT_READ, stream)
        while time.perf_counter() < until:
            for key, _events in selector.select(SAMPLE_SECONDS):
                key.data.receive()
            watch.look()


class _MemoryWatch:
    """The highest memory of a process since it was first looked at."""

    __slots__ = ("_next_look", "_process_id", "highest_bytes")

    def __init__(self, process_id: int) -> None:
        self._process_id = process_id
        self._next_look = 0.0
        self.highest_bytes = 0

    def look(self) -> None:
        """Look, unless that was done just now."""
        now = time.perf_counter()
        if now >= self._next_look:
            self._next_look = now + SAMPLE_SECONDS
            self.highest_bytes = max(self.highest_bytes, resident_bytes(self._process_id))
