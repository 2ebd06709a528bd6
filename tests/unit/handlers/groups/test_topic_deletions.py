"""Topics that are gone: their state is deleted, in steps that a crash may interrupt."""

import asyncio
from collections.abc import Collection, Mapping

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, StateLogUnavailable
from kproxy.handlers.groups.topic_deletions import CONFIRMATION_MS
from kproxy.share.identifiers import GroupId, SharePartitionKey
from kproxy.share.share_group_image import ShareGroupImage
from tests.in_memory.breakable_state_log import BreakableStateLog
from tests.worlds.share_group_world import (
    ORDERS,
    PAYMENTS,
    ShareGroupWorld,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

GROUP = GroupId("g")


async def a_world_that_lost_a_topic() -> ShareGroupWorld:
    """A member consumed it, and its absence was seen once."""
    world = ShareGroupWorld()
    await world.member().heartbeat(0, ["orders"])
    await world.member().open()
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    return world


def durable_group(world: ShareGroupWorld) -> ShareGroupImage:
    return world.group_log.replayed().durable_images()[GROUP]


async def test_the_state_of_a_topic_that_stays_away_is_deleted_and_the_group_forgets_it() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is None
    image = durable_group(world)
    assert (image.initialized, image.deleting) == ({}, {})
    assert world.groups.share_partition_count == 0


async def test_a_topic_that_is_missing_for_a_moment_keeps_its_state() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.metadata.create_topic("orders", ORDERS)
    world.clock.advance(CONFIRMATION_MS)
    await world.groups.tend_topics()
    world.metadata.delete_topic(ORDERS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None
    assert set(durable_group(world).initialized) == {ORDERS}


async def test_while_the_cluster_cannot_be_asked_nothing_is_deleted() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.metadata.is_unavailable = True
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None


async def test_a_deletion_that_was_interrupted_goes_on_after_a_restart() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)
    world.state_log.is_away = True
    await world.groups.tend_topics()
    interrupted = durable_group(world)
    world.state_log.is_away = False
    world.restart()

    # When
    await world.groups.tend_topics()

    # Then
    assert set(interrupted.deleting) == {ORDERS}
    assert world.state_log.state(world.key()) is None
    assert durable_group(world).deleting == {}


async def test_nothing_is_deleted_before_the_group_has_said_so_durably() -> None:
    # Given
    world = await a_world_that_lost_a_topic()
    world.clock.advance(CONFIRMATION_MS)
    world.group_log.persist_failure = StateLogUnavailable("no quorum")

    # When
    await world.groups.tend_topics()

    # Then
    assert world.state_log.state(world.key()) is not None
    assert set(durable_group(world).initialized) == {ORDERS}


async def test_a_group_that_is_forgotten_while_another_is_looked_after_is_left_alone() -> None:
    # Given
    class ForgetfulStateLog(BreakableStateLog):
        async def delete(self, keys: Collection[SharePartitionKey]) -> Mapping[SharePartitionKey, ApiError]:
            world.groups.forget_groups([GroupId("h")])
            return await super().delete(keys)

    world = ShareGroupWorld()
    world.state_log = ForgetfulStateLog()
    world.groups = world.new_process()
    for group_id in ("g", "h"):
        await world.member(group_id=group_id).heartbeat(0, ["orders"])
    world.metadata.delete_topic(ORDERS)
    await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)

    # When
    await world.groups.tend_topics()

    # Then
    assert [key.group_id for key in world.state_log.memory.fold.states] == ["h"]
    assert world.groups.coordinator.group_ids == ("g",)


async def test_it_is_said_when_to_look_again_as_long_as_something_is_left_to_do() -> None:
    # Given
    world = await a_world_that_lost_a_topic()

    # When
    while_missing = await world.groups.tend_topics()
    world.clock.advance(CONFIRMATION_MS)
    world.state_log.is_away = True
    while_the_log_is_away = await world.groups.tend_topics()
    world.state_log.is_away = False
    when_done = await world.groups.tend_topics()

    # Then
    assert (while_missing, while_the_log_is_away, when_done) == (CONFIRMATION_MS, CONFIRMATION_MS, None)


async def test_what_is_live_of_a_topic_that_is_gone_is_let_go_at_once_and_its_state_stays() -> None:
    # Given
    world = ShareGroupWorld()
    world.metadata.create_topic("payments", PAYMENTS)
    for topic_id in (ORDERS, PAYMENTS):
        await world.initialize(topic_id=topic_id)
        world.produce(5, topic_id=topic_id)
    await world.member().open((ORDERS, 0), (PAYMENTS, 0), max_records=10)
    world.metadata.delete_topic(ORDERS)

    # When
    is_gone = world.groups.topics_moved([ORDERS, PAYMENTS])

    # Then
    assert is_gone
    assert world.groups.directory.keys() == (world.key(topic_id=PAYMENTS),)
    assert world.state_log.state(world.key()) is not None
    assert not world.groups.topics_moved([PAYMENTS])


async def test_a_fetch_that_waits_for_a_topic_that_is_gone_is_answered_and_loads_nothing() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.metadata.delete_topic(ORDERS)
        world.groups.topics_moved([ORDERS])

    # Then
    assert partitions_of(fetch.result())[ORDERS, 0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert world.groups.share_partition_count == 0


async def test_what_is_being_loaded_of_a_topic_that_goes_does_not_become_live() -> None:
    """The state was read already, and nobody would discard it again."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    world.state_log.hold_loads = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().open((ORDERS, 0), max_wait_ms=0))
        await until_all_wait()
        load = world.groups.directory.begin_load(world.key())

        # When
        world.metadata.delete_topic(ORDERS)
        world.groups.topics_moved([ORDERS])
        world.state_log.hold_loads.set()
        await until_all_wait()

        # Then
        assert load.is_over
        assert "was changed while it was loaded" in str(load.failure)
        assert world.groups.directory.keys() == ()
        fetch.cancel()
