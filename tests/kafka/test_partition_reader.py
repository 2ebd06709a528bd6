"""Reading real leaders: the contract on three versions of Kafka, and what only real brokers can show."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.wire.api_keys import ApiKey
from tests.event_loops import BOTH_LOOPS, new_loop, run
from tests.in_memory.partition_reader_contract import PARTITION_READER_CONTRACT, ReaderWorld, extents
from tests.real_kafka import backing_topics
from tests.real_kafka.backing_topics import backing_topic, looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.real_kafka.everyday import for_soak

VERSIONS = ("4.3.1", "3.9.2", "2.8.2")
LIMIT_WITH_A_BROKER_STOPPED_SECONDS = 120.0


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("clause", PARTITION_READER_CONTRACT)
@pytest.mark.parametrize("loop_kind", ["uvloop"])
async def test_the_reader_keeps_the_contract_on_real_kafka(
    cluster: KafkaCluster, clause: Callable[[ReaderWorld], Awaitable[None]]
) -> None:
    async with backing_topic(cluster) as (_, topic):
        await clause(topic)


@pytest.mark.parametrize(("version", "newest"), [("4.3.1", 18), ("3.9.2", 17), ("2.8.2", 12)])
async def test_the_newest_fetch_that_a_broker_knows_is_used(cluster: KafkaCluster, newest: int) -> None:
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        assert (await backing.connections.reader(1)).version_for(ApiKey.FETCH) == newest


@pytest.mark.parametrize("loop_kind", BOTH_LOOPS)
@pytest.mark.parametrize("version", VERSIONS)
async def test_two_groups_read_one_partition_at_different_offsets_at_the_same_time(
    cluster: KafkaCluster,
) -> None:
    # Given
    async with backing_topic(cluster, partitions=1) as (backing, topic):
        for number in range(40):
            await topic.append(0, [b"%d" % number])

        # When
        reads = [backing.read_one(topic.topic_id, 0, offset) for offset in (3, 30) * 10]
        results = await asyncio.gather(*reads)

        # Then
        assert [extents(data)[0] for data in results] == [(3, 3), (30, 30)] * 10
        assert {extents(data)[-1] for data in results} == {(39, 39)}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_topic_created_anew_is_not_taken_for_the_old_one(cluster: KafkaCluster) -> None:
    # Given
    async with backing_topic(cluster, partitions=1) as (backing, old):
        await old.append(0, [b"old"])
        assert extents(await backing.read_one(old.topic_id, 0, 0)) == [(0, 0)]
        await old.delete()
        await old.create_anew()

        # When
        new_id = await backing_topics.id_of(backing, old.name, other_than=old.topic_id)
        await backing_topics.until_readable(backing, new_id, 1)
        await old.append(0, [b"new"])

        # Then
        of_old = await backing.read_one(old.topic_id, 0, 0)
        assert (of_old.error_code, len(of_old.records)) == (ErrorCode.UNKNOWN_TOPIC_ID, 0)
        of_new = await backing.read_one(new_id, 0, 0)
        assert b"new" in bytes(of_new.records)


@pytest.mark.parametrize("version", ["4.3.1", for_soak("2.8.2")])
def test_reads_follow_the_leader_when_it_moves(version: str) -> None:
    with KafkaCluster(version, brokers=3) as cluster:

        async def scenario() -> None:
            # Given
            async with backing_topic(cluster, partitions=3, replicas=3) as (backing, topic):
                for partition in range(3):
                    await topic.append(partition, [b"a"])
                before = backing.metadata.leader_of(topic.topic_id, 0)
                assert before is not None

                # When
                await asyncio.to_thread(cluster.stop_broker, before.leader_id)
                async with asyncio.timeout(20):
                    while (data := await backing.read_one(topic.topic_id, 0, 0)).error_code:
                        assert data.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER

                # Then
                assert extents(data) == [(0, 0)]
                after = backing.metadata.leader_of(topic.topic_id, 0)
                assert after is not None
                assert after.leader_id != before.leader_id
                assert after.leader_epoch > before.leader_epoch

        with new_loop("asyncio") as loop:
            loop.run(scenario(), at_least_seconds=LIMIT_WITH_A_BROKER_STOPPED_SECONDS)


@pytest.mark.soak
def test_a_broker_that_restarts_is_read_again() -> None:
    with KafkaCluster() as cluster:

        async def scenario() -> None:
            # Given
            async with backing_topic(cluster, partitions=1) as (backing, topic):
                await topic.append(0, [b"a"])
                await asyncio.to_thread(cluster.stop_broker, 1)
                away = await backing.read_one(topic.topic_id, 0, 0)

                # When
                await asyncio.to_thread(cluster.start_broker, 1)
                await backing_topics.until_readable(backing, topic.topic_id, 1)
                back = await backing.read_one(topic.topic_id, 0, 0)

                # Then
                assert away.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
                assert extents(back) == [(0, 0)]

        run(scenario(), "uvloop")


def test_a_broker_that_freezes_costs_no_more_than_the_timeouts() -> None:
    with KafkaCluster() as cluster:

        async def scenario() -> None:
            # Given
            async with backing_topic(cluster, partitions=1) as (backing, topic):
                backing.connections.dialler.limits = backing_topics.IMPATIENT
                backing.connections.close()
                await topic.append(0, [b"a"])
                assert extents(await backing.read_one(topic.topic_id, 0, 0)) == [(0, 0)]
                cluster.pause_broker(1)

                # When
                began_ms = backing.clock.now_ms()
                frozen = await backing.read_one(topic.topic_id, 0, 0)
                took_ms = backing.clock.now_ms() - began_ms

                # Then
                cluster.resume_broker(1)
                assert frozen.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
                assert took_ms < 15_000

        run(scenario())
