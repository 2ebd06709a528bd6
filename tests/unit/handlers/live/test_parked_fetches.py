"""Fetches asleep, and the end of the process."""

import asyncio

from kproxy.handlers.live.parked_fetches import ParkedFetches
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.share_group_world import ShareGroupWorld, until_all_wait


async def test_the_end_wakes_everybody_who_sleeps() -> None:
    # Given
    clock = ManualClock()
    parked = ParkedFetches(InMemoryAvailability(clock))
    interests = [{ShareGroupWorld.key(partition=number): None} for number in range(3)]

    # When
    async with asyncio.TaskGroup() as tasks:
        for interest in interests:
            tasks.create_task(parked.wait(interest, 60_000))
        await until_all_wait()
        count_before = len(parked)
        parked.end()

    # Then
    assert count_before == 3
    assert len(parked) == 0
    assert clock.now_ms() == 0


async def test_after_the_end_nobody_falls_asleep() -> None:
    # Given
    parked = ParkedFetches(InMemoryAvailability(ManualClock()))
    parked.end()

    # When
    await parked.wait({ShareGroupWorld.key(): None}, 60_000)

    # Then
    assert parked.is_ending
    assert len(parked) == 0


async def test_who_is_cut_off_is_forgotten() -> None:
    # Given
    parked = ParkedFetches(InMemoryAvailability(ManualClock()))

    # When
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(parked.wait({ShareGroupWorld.key(): None}, 60_000))
        await until_all_wait()
        task.cancel()

    # Then
    assert len(parked) == 0


async def test_the_end_wakes_who_waits_for_no_share_partition() -> None:
    """A fetch that finds no room for its session waits for nothing but time."""
    # Given
    clock = ManualClock()
    parked = ParkedFetches(InMemoryAvailability(clock))

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(parked.wait({}, 60_000))
        await until_all_wait()
        parked.end()
        await until_all_wait()
        is_done = waiting.done()
        clock.advance(60_000)

    # Then
    assert is_done
