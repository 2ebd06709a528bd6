"""What is signalled while a fetch looks elsewhere neither keeps it awake for ever nor is lost."""

import asyncio

from kproxy.errors import CoordinatorLoadInProgress
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acquired,
    until_all_wait,
)

BOTH = ((ORDERS, 0), (ORDERS, 1))


async def a_world_of_two(*, is_second_initialized: bool = True) -> ShareGroupWorld:
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    for partition in range(1 + is_second_initialized):
        await world.initialize(partition=partition)
    return world


async def test_signals_of_a_partition_that_was_refused_do_not_make_a_fetch_read_without_end() -> None:
    """Anybody can have them given: a session is opened and closed."""
    # Given
    world = await a_world_of_two(is_second_initialized=False)
    bob = world.member("bob")
    await bob.open(*BOTH)

    async def end_an_endless_loop() -> None:
        if len(world.reader.reads) > 20:
            world.clock.advance(500)

    world.reader.before_read = end_an_endless_loop

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member("alice").fetch(add=BOTH, max_wait_ms=500))
        await until_all_wait(50)
        read_count = len(world.reader.reads)
        await bob.disconnect()
        await until_all_wait(50)
        read_count_after = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert (read_count, read_count_after) == (1, 2)


async def test_a_slot_that_becomes_ready_while_a_fetch_reads_elsewhere_is_not_slept_on() -> None:
    """Nobody sleeps at that moment, so there is nobody to be woken."""
    # Given
    world = await a_world_of_two()
    world.produce(3, partition=1)
    loading = world.key(partition=1)
    world.state_log.unreadiness[loading] = CoordinatorLoadInProgress("replaying")

    async def become_ready() -> None:
        world.reader.before_read = None
        del world.state_log.unreadiness[loading]
        world.groups.discard_share_partitions(lambda key: key == loading)

    world.reader.before_read = become_ready

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=BOTH, max_wait_ms=500))
        await until_all_wait(100)
        world.clock.advance(500)

    # Then
    assert acquired(fetch.result(), partition=1) == [(0, 2, 1)]
