"""Fetches that wait for more bytes than there are, over partitions that they have in common."""

import asyncio
import random
from itertools import cycle

import pytest

from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    loaded,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

PARTITION_COUNT = 3


async def patient_members(world: ShareGroupWorld, chance: random.Random) -> list[Member]:
    """Return some that each fetch some of the partitions, which have a record each."""
    members = [world.member(f"m{number}") for number in range(chance.choice([2, 3, 4]))]
    for member in members:
        partitions = chance.sample(range(PARTITION_COUNT), chance.randint(1, PARTITION_COUNT))
        await member.open(*((ORDERS, partition) for partition in partitions))
    for partition in range(PARTITION_COUNT):
        await loaded(world.groups.directory, world.key(partition=partition))
        world.produce(1, partition=partition)
    return members


def read_at_uneven_speed(world: ShareGroupWorld, chance: random.Random) -> None:
    turns = cycle([chance.randint(0, 3) for _ in range(3)])

    async def read() -> None:
        await until_all_wait(next(turns))

    world.reader.before_read = read


@pytest.mark.parametrize("seed", [36, 147, 283, 307, 315, 331, 344, 351, 362])
async def test_fetches_that_wait_for_more_bytes_do_not_wake_each_other_for_ever(seed: int) -> None:
    # Given
    chance = random.Random(seed)
    world = await world_with_orders(passes_time=False, partition_count=PARTITION_COUNT)
    members = await patient_members(world, chance)
    read_at_uneven_speed(world, chance)

    # When
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.fetch(max_wait_ms=500, min_bytes=100_000))
            await until_all_wait(chance.randint(1, 5))
        for _ in range(4):
            world.produce(1, partition=chance.randrange(PARTITION_COUNT))
            await until_all_wait(chance.randint(1, 6))
        await until_all_wait(300)
        read_count = len(world.reader.reads)
        await until_all_wait(300)
        later_read_count = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert later_read_count == read_count


@pytest.mark.parametrize("is_first_read_over_first", [True, False])
async def test_records_that_are_enough_with_those_that_another_fetch_reads_meanwhile_are_not_slept_on(
    is_first_read_over_first: bool,  # noqa: FBT001
) -> None:
    """They were too few for both when there were no others."""
    # Given
    world = await world_with_orders(passes_time=False, partition_count=PARTITION_COUNT)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open((ORDERS, 0), (ORDERS, 2))
    await bob.open((ORDERS, 0), (ORDERS, 1))
    for partition in range(PARTITION_COUNT):
        await loaded(world.groups.directory, world.key(partition=partition))
    held = [asyncio.Event(), asyncio.Event()]
    waiting = list(held)

    async def hold() -> None:
        await waiting.pop(0).wait()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(min_bytes=100_000, max_wait_ms=500))
        fetch = tasks.create_task(bob.fetch(min_bytes=800, max_wait_ms=500))
        await until_all_wait(50)
        world.produce(1, size_bytes=400)
        await until_all_wait(100)
        world.reader.before_read = hold
        world.produce(1, partition=2)
        await until_all_wait()
        world.produce(1, partition=1, size_bytes=400)
        await until_all_wait()
        world.reader.before_read = None
        for may_go_on in held if is_first_read_over_first else reversed(held):
            may_go_on.set()
            await until_all_wait(50)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert [acquired(fetch.result(), partition=partition) for partition in (0, 1)] == [[(0, 0, 1)]] * 2
