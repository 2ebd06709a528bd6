"""What it costs to look at the topics of share groups: `python -m tests.benchmarks.topic_looks [--topics N] [--kafka]`.

kproxy's own view of a cluster in this process looks every `kproxy.topics.look.interval.ms` as a running kproxy does, at
a stand-in for a broker whose partitions have three replicas, or with --kafka at one real broker. CPU is by the
operating system's account; the real broker's is per look, when they come one after the other.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import uvloop
from confluent_kafka.admin import AdminClient, NewTopic

from kproxy.handlers.ports import BrokerEndpoint
from kproxy.net.cluster.broker_client import ConnectionLimits
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.topic_looks import ClusterLooks
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort, Settings
from tests.benchmarks.metadata_stand_in import metadata_stand_in
from tests.benchmarks.process_accounting import cpu_use
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.versions import REFERENCE

PARTITIONS_PER_REQUEST: Final = 1_000
"""A KRaft controller refuses to do very much at once."""
PATIENCE_SECONDS: Final = 120.0
PAUSE_SECONDS: Final = 0.2
LOOKS_AT_ONCE: Final = 100


class CountedLooks:
    """Counters in memory."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()

    def count(self, counter: str, amount: int = 1, *labels: str) -> None:
        """Add to a counter."""
        self.counts[(counter, *labels)] += amount


@dataclass(slots=True)
class Used:
    """CPU seconds that kproxy's part and the broker used in some time."""

    seconds: float
    kproxy: float
    broker: float


class Looking:
    """kproxy's view of a cluster, and the broker that it asks."""

    def __init__(self, address: HostPort, names: frozenset[str], broker_process_id: int | None) -> None:
        self.names = names
        self.counting = CountedLooks()
        self.clock = MonotonicClock()
        self.tasks = TaskKeeper()
        self._broker_process_id = broker_process_id
        self.connections = BrokerConnections(
            limits=ConnectionLimits(), clock=self.clock, tasks=self.tasks, counting=self.counting
        )
        self.metadata = ClusterMetadataCache(
            [address],
            connections=self.connections,
            advertise=lambda broker: BrokerEndpoint(broker.node_id, broker.host, broker.port, broker.rack),
            clock=self.clock,
            tasks=self.tasks,
            counting=self.counting,
        )

    async def measure(self, work: Callable[[], Awaitable[object]]) -> Used:
        """What `work` used."""
        began, own = time.monotonic(), time.process_time()
        with cpu_use(self._broker_process_id) as broker:
            await work()
        return Used(time.monotonic() - began, time.process_time() - own, broker.seconds)

    async def look_until_there_are(self, partitions: int) -> None:
        """Look until the broker knows all: it hears of topics while it makes the logs of those before."""
        found = 0
        while found < partitions:
            await self.metadata.look(self.names)
            topics = await self.metadata.topics_named(self.names)
            found = sum(topic.partition_count for topic in topics.values())
            await asyncio.sleep(PAUSE_SECONDS)

    async def look_often(self) -> None:
        """Look again and again, without pauses."""
        for _ in range(LOOKS_AT_ONCE):
            await self.metadata.look(self.names)

    async def look_and_read(self) -> None:
        """Look once, and decode everything whatever the answer is."""
        await self.metadata.look(frozenset(set(self.names)))

    async def look_every_interval(self, interval_ms: int, seconds: float) -> None:
        """Look as a running kproxy does."""
        looks = ClusterLooks(self.metadata.look, self._wanted, clock=self.clock, interval_ms=interval_ms)
        running = self.tasks.spawn(looks.run(), name="looks")
        await asyncio.sleep(seconds)
        running.cancel()

    async def _wanted(self) -> frozenset[str]:
        return self.names


async def measure(looking: Looking, partitions: int, seconds: float) -> None:
    """Measure everything and print it."""
    interval_ms = Settings().topics_look_interval_ms
    await looking.look_until_there_are(partitions)
    for _ in range(3):
        await looking.look_and_read()
        await looking.look_often()
    reading = await looking.measure(looking.look_and_read)
    await looking.metadata.look(looking.names)
    often = await looking.measure(looking.look_often)
    looking.counting.counts.clear()
    paced = await looking.measure(lambda: looking.look_every_interval(interval_ms, seconds))
    print(f"every {interval_ms} ms:  kproxy {100 * paced.kproxy / paced.seconds:.3f} % of a core")
    print(f"one after the other:  kproxy {often.kproxy / LOOKS_AT_ONCE * 1e3:.3f} ms a look")
    print(f"                      broker {often.broker / LOOKS_AT_ONCE * 1e3:.3f} ms a look")
    print(f"one that is decoded:  kproxy {reading.kproxy * 1e3:.1f} ms")
    assert looking.counting.counts["metadata_looks", "different"] == 0, "something changed meanwhile"
    await looking.tasks.close()
    looking.connections.close()


async def look(options: argparse.Namespace, address: HostPort, broker_process_id: int | None) -> None:
    """Look at the cluster behind `address` in all ways."""
    looking = Looking(address, frozenset(names_of(options)), broker_process_id)
    await measure(looking, options.partitions, options.seconds)


def names_of(options: argparse.Namespace) -> Sequence[str]:
    """The topics."""
    return [f"topic-{number:04}" for number in range(options.topics)]


def create(bootstrap_servers: str, names: Sequence[str], partitions: int) -> None:
    """Create topics with so many partitions each."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    at_once = max(1, PARTITIONS_PER_REQUEST // partitions)
    for start in range(0, len(names), at_once):
        part = [NewTopic(name, partitions, 1) for name in names[start : start + at_once]]
        for created in admin.create_topics(part, operation_timeout=PATIENCE_SECONDS).values():
            created.result(PATIENCE_SECONDS)


def main() -> int:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=10_000, help="of all topics together")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--kafka", action="store_true", help="one real broker instead of the stand-in")
    options = parser.parse_args()
    per_topic = options.partitions // options.topics
    with ExitStack() as running:
        process_id = None
        if options.kafka:
            cluster = running.enter_context(KafkaCluster(REFERENCE.version))
            [node_id] = cluster.node_ids
            process_id = cluster.broker_process_id(node_id)
            create(cluster.bootstrap_servers, names_of(options), per_topic)
            host, _, port = cluster.bootstrap_servers.rpartition(":")
            address = HostPort(host, int(port))
        else:
            address = running.enter_context(metadata_stand_in(per_topic))
        print(f"{options.topics} topics, {options.partitions} partitions, {os.cpu_count()} cores")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(look(options, address, process_id))
    return 0


if __name__ == "__main__":
    sys.exit(main())
