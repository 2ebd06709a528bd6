"""kproxy's own half of `kproxy.net` in front of a scripted cluster, wired as the application wires it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from kproxy.handlers.ports import BrokerEndpoint, PartitionData, PartitionRead
from kproxy.net.cluster.broker_client import BrokerClient, ConnectionLimits
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.net.cluster.view import ClusterBroker
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.reading.isolated_availability import IsolatedAvailability
from kproxy.net.reading.partition_reader import BrokerPartitionReader
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.settings.addresses import HostPort
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.codecs import DecodedRequest
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from tests.in_memory.answering_broker import Answer, AnsweringBroker, Reply

ORDERS: Final = TopicId(b"topic-id-orders.")
PAYMENTS: Final = TopicId(b"topic-id-payment")

LIMITS: Final = ConnectionLimits(
    connect_timeout_ms=10_000, request_timeout_ms=10_000, frame_max_bytes=1 << 20
)
QUICK: Final = MetadataTiming(max_age_ms=60_000, min_interval_ms=1, max_wait_ms=15_000, unknown_ttl_ms=60_000)


class CountedThings:
    """Counters in memory."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add to a counter."""
        self.counts[(counter, *labels)] += amount

    def of(self, *key: str) -> int:
        """Return a counter with its labels."""
        return self.counts[key]


class Backing:
    """Everything that looks at the backing cluster behind `bootstrap_servers`."""

    def __init__(
        self,
        bootstrap_servers: Sequence[HostPort],
        *,
        limits: ConnectionLimits = LIMITS,
        timing: MetadataTiming = QUICK,
    ) -> None:
        self.clock = MonotonicClock()
        self.tasks = TaskKeeper()
        self.counted = CountedThings()
        self.connections = BrokerConnections(
            limits=limits, clock=self.clock, tasks=self.tasks, counting=self.counted
        )
        self.metadata = ClusterMetadataCache(
            bootstrap_servers,
            connections=self.connections,
            advertise=advertised,
            clock=self.clock,
            tasks=self.tasks,
            counting=self.counted,
            timing=timing,
        )
        self.reader = BrokerPartitionReader(
            metadata=self.metadata, connections=self.connections, is_in_line=True
        )
        self.turns = WakingTurns()
        self.availability = IsolatedAvailability(
            metadata=self.metadata,
            connections=self.connections,
            clock=self.clock,
            tasks=self.tasks,
            turns=self.turns,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.tasks.close()
        self.connections.close()

    async def read_one(
        self, topic_id: TopicId, partition: int, offset: int, *, max_bytes: int = 1 << 20
    ) -> PartitionData:
        """Read one partition."""
        read = PartitionRead(topic_id, partition, offset, max_bytes)
        return (await self.reader.read([read], max_bytes=max_bytes))[0]

    def wait_for(
        self, *missing: tuple[SharePartitionKey, int | None], for_ms: int = 10_000
    ) -> asyncio.Task[None]:
        """Sleep until one of `missing` may be there, in a task of its own."""
        until_ms = self.clock.now_ms() + for_ms

        async def wait() -> None:
            await self.availability.wait(dict(missing), until_ms)

        return self.tasks.spawn(wait(), name="a wait")


def advertised(broker: ClusterBroker) -> BrokerEndpoint:
    """Return an endpoint that no broker has."""
    return BrokerEndpoint(broker.node_id, "kproxy.test", 9000 + broker.node_id, broker.rack)


def share_partition(topic_id: TopicId, partition: int, group: str = "g") -> SharePartitionKey:
    """Return a key."""
    return SharePartitionKey(GroupId(group), topic_id, partition)


def broker_that(answers_metadata: Answer) -> AnsweringBroker:
    """Return a broker that knows nothing but one answer to Metadata."""
    return AnsweringBroker({ApiKey.METADATA: answers_metadata}, version_ranges={ApiKey.METADATA: (0, 12)})


def cluster_named(cluster_id: str) -> MetadataResponse:
    """Return an answer to Metadata that can be told from others."""
    return MetadataResponse(cluster_id=cluster_id)


async def never(_: DecodedRequest) -> Reply:
    """Answer nothing and keep the connection open."""
    await asyncio.Event().wait()
    return None


async def ask(client: BrokerClient) -> str | None:
    """Return the cluster id that a broker answers with."""
    response = await client.request(ApiKey.METADATA, MetadataRequest())
    assert isinstance(response, MetadataResponse)
    return response.cluster_id
