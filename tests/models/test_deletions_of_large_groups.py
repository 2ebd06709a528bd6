"""A share group with more share-partitions than are deleted in one turn of the event loop."""

import asyncio

import pytest

from kproxy.handlers.groups import group_deletions, state_deletions
from tests.worlds.mortal_world import GROUP
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld
from tests.worlds.share_offset_requests import alter
from tests.worlds.waiting import until_all_wait


async def test_others_have_turns_while_the_states_of_a_large_group_are_deleted() -> None:
    # Given
    world = await a_large_group()

    # When
    refusals = await world.groups._group_deletions.delete([GROUP])

    # Then
    assert refusals == {}
    assert world.state_log.deletion_sizes == [5_000, 1_000]
    assert world.group_log.replayed().durable_images() == {}
    assert world.state_log.memory.fold.states == {}


async def test_a_new_group_keeps_its_states_while_a_slow_deletion_of_a_large_one_goes_on() -> None:
    # Given
    world = await a_large_group()
    release = world.state_log.hold_deletions = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(world.groups._group_deletions.delete([GROUP]))
        await until_all_wait()
        world.state_log.hold_deletions = None
        await world.groups._group_deletions.delete([GROUP])
        await alter(world, {"orders": {5_500: 3}})

        # When
        release.set()

    # Then
    assert slow.result() == {}
    assert set(world.state_log.memory.fold.states) == {world.key(partition=5_500)}


async def test_a_deletion_that_others_finish_in_its_first_pause_succeeds_and_spares_a_new_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world = await a_large_group()
    turn = asyncio.Event()
    monkeypatch.setattr(state_deletions, "let_others_go_on", turn.wait)
    monkeypatch.setattr(group_deletions, "let_others_go_on", turn.wait)
    paused = asyncio.get_running_loop().create_task(world.groups._group_deletions.delete([GROUP]))
    await until_all_wait()
    monkeypatch.undo()
    await world.groups._group_deletions.delete([GROUP])
    await alter(world, {"orders": {5_500: 3}})

    # When
    turn.set()
    refusals = await paused

    # Then
    assert refusals == {}
    assert set(world.state_log.memory.fold.states) == {world.key(partition=5_500)}


async def a_large_group() -> ShareGroupWorld:
    """A group with 6,000 share-partitions of `orders`, two of which have a state."""
    world = ShareGroupWorld()
    world.metadata.create_topic("orders", ORDERS, partition_count=6_000)
    await alter(world, {"orders": {0: 3, 5_500: 5}})
    return world
