"""Topics of a real cluster, written and changed from within an event loop: for kproxy's own half of `kproxy.net`."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kproxy.handlers.ports import Availability, PartitionReader
from kproxy.net.cluster.broker_client import ConnectionLimits
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.settings.addresses import HostPort, parse_host_port
from kproxy.share.identifiers import TopicId
from tests.real_kafka import administration
from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.transactions import TransactionalProducer, wait_until_stable
from tests.worlds.backing import Backing

KEPT_FOR_EVER: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
AS_SHIPPED: Final = ConnectionLimits()
IMPATIENT: Final = ConnectionLimits(connect_timeout_ms=2_000, request_timeout_ms=2_000)


def addresses(cluster: KafkaCluster) -> list[HostPort]:
    """Return the brokers of `cluster`."""
    return [parse_host_port(address, first_port=1) for address in cluster.bootstrap_servers.split(",")]


def looking_at(cluster: KafkaCluster) -> Backing:
    """Return what kproxy has for looking at its backing cluster, with the limits and intervals it ships with."""
    return Backing(addresses(cluster), limits=AS_SHIPPED, timing=MetadataTiming())


class BackingTopic:
    """A topic of a real cluster, as the contracts of `PartitionReader` and `Availability` want it.

    A record counts as appended when the broker has acknowledged it, which is when it is below the high watermark.
    """

    def __init__(self, cluster: KafkaCluster, backing: Backing, name: str, topic_id: TopicId) -> None:
        self.name = name
        self.topic_id = topic_id
        self.reader: PartitionReader = backing.reader
        self.availability: Availability = backing.availability
        self._backing = backing
        self._servers = cluster.bootstrap_servers
        # One batch for what is appended together, sent as soon as it is flushed.
        self.acknowledged_at = 0.0
        """When the last append was acknowledged, in seconds of `time.perf_counter`."""
        self._transactional: TransactionalProducer | None = None
        self._producer = Producer({"bootstrap.servers": self._servers, "acks": "all", "linger.ms": 5_000})

    def in_ms(self, delay_ms: int) -> int:
        """Return the moment (Clock) in `delay_ms`."""
        return self._backing.clock.now_ms() + delay_ms

    def pass_time(self, delay_ms: int) -> None:
        """Time passes by itself."""

    async def append_one(self, partition: int) -> None:
        """Append a record."""
        await self.append(partition, [b"a"])

    async def append_one_in_transaction(self, partition: int) -> None:
        """Append a record in a transaction, which begins with it if none is open."""
        await self.append_in_transaction(partition, [b"a"])

    async def append_in_transaction(self, partition: int, values: Sequence[bytes]) -> None:
        """Append `values` as one batch of a transaction, which begins with it if none is open."""
        await asyncio.to_thread(self._append_in_transaction, partition, values)

    async def end_transaction(self, *, is_commit: bool) -> None:
        """Commit or abort the transaction. Its markers are there: another one can begin."""
        await asyncio.to_thread(self._end_transaction, is_commit=is_commit)

    async def append(self, partition: int, values: Sequence[bytes], *, timestamp_ms: int = 1) -> None:
        """Append `values` as one batch."""
        await asyncio.to_thread(self._append, partition, values, timestamp_ms)

    async def move_start(self, partition: int, log_start_offset: int) -> None:
        """Delete the records below `log_start_offset`."""
        await asyncio.to_thread(self._delete_records, partition, log_start_offset)

    async def delete(self) -> None:
        """Delete the topic."""
        await asyncio.to_thread(self._delete)

    async def create_anew(self) -> None:
        """Create a topic of the same name, once the old one is gone; `topic_id` remains that of the old one."""
        async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
            while True:
                try:
                    await asyncio.to_thread(_create, self._servers, self.name, 1, 1)
                except KafkaException as refusal:
                    if refusal.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                        raise
                else:
                    return

    def _delete(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers})
        answer = admin.delete_topics([self.name], operation_timeout=ANSWER_TIMEOUT_SECONDS)[self.name]
        answer.result(ANSWER_TIMEOUT_SECONDS)

    def _append(self, partition: int, values: Sequence[bytes], timestamp_ms: int) -> None:
        for value in values:
            self._producer.produce(self.name, value, partition=partition, timestamp=timestamp_ms)
        left = self._producer.flush(ANSWER_TIMEOUT_SECONDS)
        assert left == 0, f"{left} records were not acknowledged"
        self.acknowledged_at = time.perf_counter()

    def _append_in_transaction(self, partition: int, values: Sequence[bytes]) -> None:
        if self._transactional is None:
            self._transactional = TransactionalProducer(self._servers, self.name, transactional_id=self.name)
        self._transactional.write([value.decode() for value in values], partition=partition)

    def _end_transaction(self, *, is_commit: bool) -> None:
        assert self._transactional is not None
        if is_commit:
            self._transactional.commit()
        else:
            self._transactional.abort()
        wait_until_stable(self._servers, self.name)

    def _delete_records(self, partition: int, log_start_offset: int) -> None:
        admin = AdminClient({"bootstrap.servers": self._servers})
        below = TopicPartition(self.name, partition, log_start_offset)
        for answer in admin.delete_records([below]).values():
            answer.result(ANSWER_TIMEOUT_SECONDS)


@asynccontextmanager
async def backing_topic(
    cluster: KafkaCluster, *, partitions: int = 3, replicas: int = 1
) -> AsyncIterator[tuple[Backing, BackingTopic]]:
    """Create a topic and look at it; every partition can be read when this begins."""
    async with looking_at(cluster) as backing:
        name = administration.unique_name("backing")
        await asyncio.to_thread(_create, cluster.bootstrap_servers, name, partitions, replicas)
        topic_id = await id_of(backing, name)
        await until_readable(backing, topic_id, partitions)
        yield backing, BackingTopic(cluster, backing, name, topic_id)


async def id_of(backing: Backing, name: str, *, other_than: TopicId | None = None) -> TopicId:
    """Return the id of a topic once the cluster tells one that is not `other_than`."""
    async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
        while True:
            await backing.metadata.refresh()
            found = (await backing.metadata.topics_named([name])).get(name)
            if found is not None and found.topic_id != other_than:
                return found.topic_id


async def until_readable(backing: Backing, topic_id: TopicId, partitions: int) -> None:
    """Return when the leader of each partition answers reads: a fresh one may need a moment after its election."""
    async with asyncio.timeout(ANSWER_TIMEOUT_SECONDS):
        for partition in range(partitions):
            while (await backing.read_one(topic_id, partition, 0)).error_code:
                pass


def _create(servers: str, name: str, partitions: int, replicas: int) -> None:
    administration.create_topic(
        servers, name, partitions=partitions, replicas=replicas, topic_settings=KEPT_FOR_EVER
    )
