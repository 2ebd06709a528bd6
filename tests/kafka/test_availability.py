"""Being woken by real brokers: the contract on three versions of Kafka, how fast, and through what may happen."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import pytest

from kproxy.share.identifiers import GroupId, SharePartitionKey
from tests.event_loops import run
from tests.in_memory.availability_contract import AVAILABILITY_CONTRACT, AvailabilityWorld
from tests.real_kafka.backing_topics import BackingTopic, backing_topic
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.everyday import for_soak
from tests.worlds.backing import Backing, share_partition

VERSIONS = ("4.3.1", "3.9.2", "2.8.2")
PARTITIONS = 100
SILENT = PARTITIONS - 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("clause", AVAILABILITY_CONTRACT)
@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_the_availability_keeps_the_contract_on_real_kafka(
    cluster: KafkaCluster, clause: Callable[[AvailabilityWorld], Awaitable[None]]
) -> None:
    async with backing_topic(cluster) as (_, topic):
        await clause(topic)


async def wake_up_ms(backing: Backing, topic: BackingTopic, partition: int, offset: int) -> float:
    """Return how long after its acknowledgement a record woke one who was asleep; below 0 when it was before."""
    woken_at = 0.0

    async def sleep() -> None:
        nonlocal woken_at
        await backing.wait_for((share_partition(topic.topic_id, partition), offset))
        woken_at = time.perf_counter()

    async with asyncio.TaskGroup() as group:
        group.create_task(sleep())
        await asyncio.sleep(0.02)
        await topic.append(partition, [b"a"])
    return (woken_at - topic.acknowledged_at) * 1000


@pytest.mark.parametrize(
    ("version", "loop_kind"),
    [
        ("4.3.1", "asyncio"),
        ("4.3.1", "uvloop"),
        for_soak("3.9.2", "asyncio"),
        ("3.9.2", "uvloop"),
        ("2.8.2", "asyncio"),
        for_soak("2.8.2", "uvloop"),
    ],
)
async def test_a_record_wakes_sleepers_at_once(cluster: KafkaCluster, version: str, loop_kind: str) -> None:
    # Given
    async with backing_topic(cluster, partitions=1) as (backing, topic):
        await wake_up_ms(backing, topic, 0, 0)

        # When
        latencies_ms = [await wake_up_ms(backing, topic, 0, 1 + number) for number in range(30)]

        # Then
        print(
            f"\nacknowledged to woken, {version}, {loop_kind}: p50 {statistics.median(latencies_ms):.2f} ms"
        )
        assert statistics.median(latencies_ms) < 100


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_a_silent_partition_among_a_hundred_busy_ones_wakes_its_sleepers(
    cluster: KafkaCluster, version: str
) -> None:
    # Given
    async with (
        backing_topic(cluster, partitions=PARTITIONS) as (backing, topic),
        asyncio.TaskGroup() as group,
    ):
        busy = [group.create_task(consume(backing, topic, partition)) for partition in range(SILENT)]
        noise = group.create_task(produce_to_all_but_one(topic))

        # When
        latencies_ms = [await wake_up_ms(backing, topic, SILENT, offset) for offset in range(20)]

        # Then
        noise.cancel()
        for consumer in busy:
            consumer.cancel()
        print(f"\nsilent among {SILENT} busy, {version}: p50 {statistics.median(latencies_ms):.1f} ms")
        # Who is not woken waits for the end of the broker's long poll.
        assert statistics.median(latencies_ms) < 400


async def produce_to_all_but_one(topic: BackingTopic) -> None:
    while True:
        for partition in range(SILENT):
            await topic.append(partition, [b"noise" * 20])


async def consume(backing: Backing, topic: BackingTopic, partition: int) -> None:
    """Do what a share consumer's fetches do: read, and sleep when there is nothing."""
    key = SharePartitionKey(GroupId("busy"), topic.topic_id, partition)
    offset = 0
    while True:
        data = await backing.read_one(topic.topic_id, partition, offset)
        if data.records:
            offset = data.high_watermark
        else:
            await backing.availability.wait({key: offset}, backing.clock.now_ms() + 500)


@pytest.mark.parametrize("version", ["4.3.1", for_soak("2.8.2")])
def test_sleepers_are_woken_by_the_new_leader_when_it_moves(version: str) -> None:
    with KafkaCluster(version, brokers=3) as cluster:

        async def scenario() -> None:
            # Given
            async with backing_topic(cluster, partitions=3, replicas=3) as (backing, topic):
                keys = [share_partition(topic.topic_id, partition) for partition in range(3)]
                waits = [backing.wait_for((key, 0), for_ms=120_000) for key in keys]
                before = backing.metadata.leader_of(topic.topic_id, 0)
                assert before is not None

                # When
                await asyncio.to_thread(cluster.stop_broker, before.leader_id)
                for partition in range(3):
                    await topic.append(partition, [b"a"])
                acknowledged_ms = backing.clock.now_ms()
                await asyncio.gather(*waits)

                # Then
                took_ms = backing.clock.now_ms() - acknowledged_ms
                print(f"\nleader moved, {version}: woken {took_ms} ms after the last acknowledgement")
                assert took_ms < 20_000

        run(scenario())


def test_sleepers_are_woken_after_their_broker_restarted() -> None:
    with KafkaCluster() as cluster:

        async def scenario() -> None:
            # Given
            async with backing_topic(cluster, partitions=1) as (backing, topic):
                wait = backing.wait_for((share_partition(topic.topic_id, 0), 0), for_ms=120_000)
                await asyncio.to_thread(cluster.kill_broker, 1)
                await asyncio.to_thread(cluster.start_broker, 1)

                # When
                await topic.append(0, [b"a"])
                acknowledged_ms = backing.clock.now_ms()
                await wait

                # Then
                took_ms = backing.clock.now_ms() - acknowledged_ms
                print(f"\nbroker restarted: woken {took_ms} ms after the acknowledgement")
                assert took_ms < 20_000

        run(scenario(), "uvloop")


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_that_is_deleted_wakes_its_sleepers(cluster: KafkaCluster) -> None:
    # Given
    async with backing_topic(cluster, partitions=1) as (backing, topic):
        wait = backing.wait_for((share_partition(topic.topic_id, 0), 0), for_ms=120_000)

        # When
        await topic.delete()

        # Then
        async with asyncio.timeout(10):
            await wait
