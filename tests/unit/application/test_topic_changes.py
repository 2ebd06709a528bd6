"""Share groups in front of a scripted cluster whose topics come, grow, go and lose records."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import pytest

from kproxy.application.topic_changes import TopicChanges
from kproxy.error_codes import ErrorCode
from kproxy.handlers.groups.group_coordinators import OFFSETS_TOPIC
from kproxy.interception.topic_changes import TopicChange
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from tests.in_memory.in_memory_cluster_metadata import InMemoryClusterMetadata
from tests.in_memory.scripted_cluster import ScriptedCluster
from tests.worlds.backing import Backing
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.share_offset_requests import delete
from tests.worlds.waiting import until

NEVER_MS = 300_000
NEW_ORDERS = TopicId(b"topic-id-orders2")


class Scene:
    """Alice is a member of a group that consumes `orders`."""

    def __init__(self, cluster: ScriptedCluster, backing: Backing, *, interval_ms: int) -> None:
        self.cluster = cluster
        self.metadata = backing.metadata
        self.world = ShareGroupWorld(passes_time=False)
        self.world.metadata = cast("InMemoryClusterMetadata", backing.metadata)  # both are the port
        self.world.groups = self.world.new_process()
        self.world.configure("share.auto.offset.reset", "earliest")
        self.changes = TopicChanges(
            backing.metadata,
            self.world.groups,
            clock=backing.clock,
            tasks=backing.tasks,
            interval_ms=interval_ms,
        )
        self.alice: Member = self.world.member("alice")
        self.member_epoch = 0

    async def assigned(self, topics: list[str] | None = None) -> dict[TopicId, list[int]] | None:
        """What Alice's next heartbeat is told; None when it is told nothing new."""
        self.world.clock.advance(5_000)
        answer = await self.alice.heartbeat(self.member_epoch, topics)
        self.member_epoch = answer.member_epoch
        if answer.assignment is None:
            return None
        return {TopicId(each.topic_id): each.partitions for each in answer.assignment.topic_partitions}


@asynccontextmanager
async def a_scene(*, interval_ms: int = NEVER_MS, brokers: tuple[int, ...] = (1,)) -> AsyncIterator[Scene]:
    async with ScriptedCluster(brokers) as cluster, Backing(cluster.bootstrap_servers) as backing:
        cluster.create_topic("orders", ORDERS)
        scene = Scene(cluster, backing, interval_ms=interval_ms)
        assert await scene.assigned(["orders"]) == {ORDERS: [0]}
        scene.world.produce(5)
        assert acquired(await scene.alice.open(max_records=5)) == [(0, 4, 1)]
        scene.changes.start()
        yield scene


async def test_partitions_that_were_added_are_assigned_with_the_next_heartbeat() -> None:
    async with a_scene() as scene:
        # Given
        scene.cluster.add_partitions(ORDERS, 3)

        # When
        scene.changes.note(TopicChange())
        await until(lambda: scene.metadata.leader_of(ORDERS, 2) is not None)

        # Then
        assert await scene.assigned() == {ORDERS: [0, 1, 2]}


async def test_what_others_change_is_noticed_without_being_told() -> None:
    async with a_scene(interval_ms=100) as scene:
        # When
        scene.cluster.add_partitions(ORDERS, 2)

        # Then
        await until(lambda: scene.metadata.leader_of(ORDERS, 1) is not None)
        assert await scene.assigned() == {ORDERS: [0, 1]}


async def test_of_a_deleted_topic_nothing_is_live_assigned_fetched_or_acknowledged_and_its_state_waits() -> (
    None
):
    async with a_scene() as scene:
        # Given
        live_before = scene.world.groups.share_partition_count
        scene.cluster.delete_topic(ORDERS)

        # When
        scene.changes.note(TopicChange())
        await until(lambda: scene.world.groups.share_partition_count == 0)

        # Then
        assert live_before == 1
        answer = await scene.alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
        assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.UNKNOWN_TOPIC_ID}
        fetched = await scene.alice.fetch(max_wait_ms=0, acks={(ORDERS, 0): [(0, 4, [1])]})
        [partition] = partitions_of(fetched).values()
        assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert partition.acknowledge_error_code == ErrorCode.UNKNOWN_TOPIC_ID
        assert await scene.assigned() == {}
        assert scene.world.state_log.state(scene.world.key()) is not None


async def test_a_topic_created_anew_under_its_name_begins_anew() -> None:
    async with a_scene() as scene:
        # Given
        scene.cluster.create_topic("orders", NEW_ORDERS)

        # When
        scene.changes.note(TopicChange())
        await until(lambda: scene.metadata.leader_of(NEW_ORDERS, 0) is not None)

        # Then
        assert await scene.assigned() == {NEW_ORDERS: [0]}
        answer = await scene.alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
        assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.UNKNOWN_TOPIC_ID}
        assert scene.world.state_log.state(scene.world.key(topic_id=NEW_ORDERS)) is not None


async def test_a_topic_that_one_broker_of_three_does_not_know_keeps_what_is_in_flight() -> None:
    async with a_scene(brokers=(1, 2, 3)) as scene:
        # Given
        scene.cluster.delete_topic(ORDERS)
        scene.cluster.fall_behind(2)
        scene.cluster.create_topic("orders", ORDERS)
        await scene.cluster.brokers[1].stop()

        # When
        await scene.metadata.look(await scene.world.groups.watched_topics.names())

        # Then
        answer = await scene.alice.acknowledge({(ORDERS, 0): [(0, 4, [1])]})
        assert acknowledge_errors(answer) == {(ORDERS, 0): ErrorCode.NONE}


async def test_deleted_records_move_the_start_offset_of_topics_that_groups_consume() -> None:
    async with a_scene() as scene:
        # When
        scene.changes.note(TopicChange({("orders", 0): 3, ("another", 0): 5}))

        # Then
        def start_offset() -> int:
            share_partition = scene.world.groups.directory.find(scene.world.key())
            return -1 if share_partition is None else share_partition.start_offset

        await until(lambda: start_offset() == 3)
        names = {
            topic.name
            for request in scene.cluster.asked(ApiKey.METADATA)
            for topic in request.message.topics or []  # type: ignore[attr-defined]  # a MetadataRequest
        }
        assert names - {OFFSETS_TOPIC} == {"orders"}


async def test_a_storm_of_deleted_records_is_no_storm_of_walks_over_all_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_scene() as scene:
        # Given
        walks: list[str] = []
        moved: list[Mapping[TopicIdPartition, int]] = []
        done = asyncio.Event()

        async def move_log_starts(log_starts: Mapping[TopicIdPartition, int]) -> None:
            moved.append(log_starts)
            done.set()

        monkeypatch.setattr(scene.world.groups, "move_log_starts", move_log_starts)
        monkeypatch.setattr(
            type(scene.world.groups.watched_topics), "names", lambda _: walks.append("a walk")
        )

        # When
        for offset in range(100):
            scene.changes.note(TopicChange({("orders", 0): offset}))
        walks_at_once = len(walks)
        await done.wait()

        # Then
        assert walks_at_once == 0
        assert moved == [{TopicIdPartition(ORDERS, 0): 99}]


async def test_records_deleted_from_a_topic_are_not_taken_for_those_of_another_that_took_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_scene() as scene:
        # Given
        moved: list[Mapping[TopicIdPartition, int]] = []

        async def move_log_starts(log_starts: Mapping[TopicIdPartition, int]) -> None:
            moved.append(log_starts)

        monkeypatch.setattr(scene.world.groups, "move_log_starts", move_log_starts)
        scene.changes.note(TopicChange({("orders", 0): 3}))
        await until(lambda: len(moved) == 1)

        # When
        scene.changes.note(TopicChange({("orders", 0): 4}))
        scene.cluster.create_topic("orders", NEW_ORDERS)
        await scene.metadata.refresh()

        # Then
        await until(lambda: len(moved) == 2)
        assert scene.metadata.describe(NEW_ORDERS) is not None
        assert moved == [{TopicIdPartition(ORDERS, 0): 3}, {TopicIdPartition(ORDERS, 0): 4}]


async def test_a_topic_that_goes_while_deletions_are_looked_after_is_looked_after_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_scene() as scene:
        # Given: what is asked of deletions ends just after another topic went
        may_end, tended = asyncio.Event(), asyncio.Semaphore(0)

        async def tend_topics() -> None:
            tended.release()
            await may_end.wait()

        monkeypatch.setattr(scene.world.groups, "tend_topics", tend_topics)
        await scene.metadata.refresh()
        await tended.acquire()

        # When
        scene.cluster.delete_topic(ORDERS)
        await scene.metadata.look(frozenset({"orders"}))
        may_end.set()

        # Then
        await tended.acquire()


async def test_a_storm_of_changes_is_one_look() -> None:
    async with a_scene() as scene:
        # Given
        await until(lambda: len(scene.cluster.asked(ApiKey.METADATA)) > 1)
        asked = len(scene.cluster.asked(ApiKey.METADATA))
        scene.cluster.add_partitions(ORDERS, 2)

        # When
        for _ in range(10_000):
            scene.changes.note(TopicChange())

        # Then
        await until(lambda: scene.metadata.leader_of(ORDERS, 1) is not None)
        assert len(scene.cluster.asked(ApiKey.METADATA)) == asked + 1


async def test_a_deletion_of_offsets_that_was_interrupted_goes_on_without_waiting_for_the_next_round_of_metadata() -> (
    None
):
    async with a_scene() as scene:
        # Given
        await scene.alice.heartbeat(-1)
        scene.world.state_log.is_away = True

        # When
        await delete(scene.world, "orders")
        scene.world.state_log.is_away = False
        await until(lambda: scene.world.state_log.state(scene.world.key()) is None)

        # Then
        scene.member_epoch = 0
        assert await scene.assigned(["orders"]) == {ORDERS: [0]}
