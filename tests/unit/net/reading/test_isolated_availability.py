"""Sleeping under either isolation level: what both share, and what they do not."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from itertools import pairwise
from typing import cast

from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.pauses import MOST_AT_ONCE
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.deadlines import MonotonicClock
from kproxy.net.reading.isolated_availability import IsolatedAvailability
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import ORDERS, Backing, share_partition
from tests.worlds.waiting import until


def isolation_levels_asked(cluster: ScriptedCluster) -> set[int]:
    """Under which levels brokers were polled."""
    messages = [request.message for request in cluster.asked(ApiKey.FETCH)]
    return {message.isolation_level for message in messages if isinstance(message, FetchRequest)}


async def test_while_nobody_waits_for_committed_records_no_broker_is_polled_for_them() -> None:
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])

        # When
        wait = backing.wait_for((share_partition(ORDERS, 0), 0))
        await cluster.brokers[1].until_asked(ApiKey.FETCH)
        await cluster.append(ORDERS, 0, [b"a"])
        await wait

        # Then
        assert isolation_levels_asked(cluster) == {IsolationLevel.READ_UNCOMMITTED}


async def test_a_poll_for_committed_records_does_not_hold_up_one_for_all_of_them() -> None:
    """Each has a connection of its own: a broker answers the polls of one connection one after the other."""
    async with ScriptedCluster() as cluster, Backing(cluster.bootstrap_servers) as backing:
        # Given
        cluster.create_topic("orders", ORDERS)
        await backing.metadata.topics_named(["orders"])
        until_ms = backing.clock.now_ms() + 10_000
        key = share_partition(ORDERS, 0)

        async def wait_for_committed() -> None:
            await backing.availability.wait({key: 0}, until_ms, IsolationLevel.READ_COMMITTED)

        committed = backing.tasks.spawn(wait_for_committed(), name="a wait for committed records")
        await cluster.brokers[1].until_asked(ApiKey.FETCH)

        # When
        uncommitted = backing.wait_for((key, 0))
        await cluster.brokers[1].until_asked(ApiKey.FETCH, 2)
        cluster.log(ORDERS, 0).append_in_transaction([b"a"], producer_id=7)
        await cluster.wake_polls()
        await uncommitted

        # Then
        assert not committed.done()
        cluster.log(ORDERS, 0).end_transaction(producer_id=7, is_commit=True)
        await cluster.wake_polls()
        await committed


# ------------------------------------------------ topics that are deleted together

PARTITIONS, TOPICS = 10, 300


class GoneTopics:
    """The metadata of a cluster that has none of the topics that are asked for, and says so when the test lets it."""

    def __init__(self) -> None:
        self.on_topics: list[Callable[[Collection[TopicId]], None]] = []
        self.may_answer = asyncio.Event()

    def leader_of(self, _topic_id: TopicId, _partition: int) -> PartitionLeader | None:
        """Nobody."""
        return None

    async def confirm(self, _topic_ids: Collection[TopicId], *, not_older_than_ms: int) -> None:
        """Answer when the test lets it."""
        assert not_older_than_ms == 0
        await self.may_answer.wait()

    async def topics_with_ids(self, _topic_ids: Collection[TopicId]) -> Mapping[TopicId, TopicDescription]:
        """There are none."""
        return {}


async def test_others_have_turns_while_very_many_watches_end_with_their_topics() -> None:
    # Given
    metadata, clock, tasks = GoneTopics(), MonotonicClock(), TaskKeeper()
    availability = IsolatedAvailability(
        metadata=cast("ClusterMetadataCache", metadata),
        connections=cast("BrokerConnections", None),
        clock=clock,
        tasks=tasks,
        turns=WakingTurns(),
    )

    async def sleep_for(topic_id: TopicId) -> None:
        missing = {share_partition(topic_id, number): 0 for number in range(PARTITIONS)}
        await availability.wait(missing, clock.now_ms() + 60_000)

    topic_ids = [TopicId(f"{number:016}".encode()) for number in range(TOPICS)]
    sleeps = [tasks.spawn(sleep_for(topic_id), name="a sleeper") for topic_id in topic_ids]
    watches = availability._by_isolation[IsolationLevel.READ_UNCOMMITTED]._watches
    await until(lambda: len(watches) == TOPICS * PARTITIONS)

    # When
    left = [len(watches)]
    metadata.may_answer.set()
    while left[-1]:
        await asyncio.sleep(0)
        left.append(len(watches))
    await asyncio.gather(*sleeps)

    # Then
    assert max(before - after for before, after in pairwise(left)) <= MOST_AT_ONCE
    await tasks.close()
