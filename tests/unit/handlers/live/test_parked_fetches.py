"""Fetches asleep, and the end of the process."""

import asyncio
from dataclasses import replace

from kproxy.handlers.live.fetch_signals import FetchSignals
from kproxy.handlers.live.parked_fetches import ParkedFetches
from kproxy.handlers.request_context import RequestContext
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.share_session import ShareSessionLimits
from tests.in_memory.in_memory_availability import InMemoryAvailability
from tests.in_memory.manual_clock import ManualClock
from tests.worlds.share_group_world import ShareGroupWorld
from tests.worlds.waiting import until_all_wait

CONTEXT = RequestContext(7, 1, 78, 2, "client", "/127.0.0.1")


class GoneCaller:
    is_gone = True
    has_more = False


async def test_the_end_wakes_everybody_who_sleeps() -> None:
    # Given
    clock = ManualClock()
    parked = ParkedFetches(InMemoryAvailability(clock))
    interests = [{ShareGroupWorld.key(partition=number): None} for number in range(3)]

    # When
    async with asyncio.TaskGroup() as tasks:
        for interest in interests:
            tasks.create_task(parked.wait(interest, 60_000, CONTEXT))
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
    await parked.wait({ShareGroupWorld.key(): None}, 60_000, CONTEXT)

    # Then
    assert parked.is_ending
    assert len(parked) == 0


async def test_who_is_cut_off_is_forgotten() -> None:
    # Given
    parked = ParkedFetches(InMemoryAvailability(ManualClock()))

    # When
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(parked.wait({ShareGroupWorld.key(): None}, 60_000, CONTEXT))
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
        waiting = tasks.create_task(parked.wait({}, 60_000, CONTEXT))
        await until_all_wait()
        parked.end()
        await until_all_wait()
        is_done = waiting.done()
        clock.advance(60_000)

    # Then
    assert is_done


async def test_the_fetches_of_a_connection_that_went_away_are_woken_and_no_others() -> None:
    # Given
    clock = ManualClock()
    parked = ParkedFetches(InMemoryAvailability(clock))
    elsewhere = replace(CONTEXT, connection_id=8)

    # When
    async with asyncio.TaskGroup() as tasks:
        of_partition = tasks.create_task(parked.wait({ShareGroupWorld.key(): 5}, 60_000, CONTEXT))
        of_none = tasks.create_task(parked.wait({}, 60_000, CONTEXT))
        others = [
            tasks.create_task(parked.wait(interest, 60_000, elsewhere))
            for interest in ({ShareGroupWorld.key(partition=1): 5}, {})
        ]
        await until_all_wait()
        parked.forsake(CONTEXT.connection_id)
        await until_all_wait()
        are_done = of_partition.done(), of_none.done(), *(each.done() for each in others)
        parked.end()

    # Then
    assert are_done == (True, True, False, False)
    assert len(parked) == 0


async def test_who_waits_for_room_for_its_session_goes_with_its_connection() -> None:
    # Given
    limits = ShareGroupLimits(sessions=ShareSessionLimits(max_share_sessions=1))
    world = ShareGroupWorld(passes_time=False, limits=limits)
    await world.initialize()
    await world.member("alice").open()
    bob = world.member("bob")

    # When
    async with asyncio.TaskGroup() as tasks:
        opening = tasks.create_task(bob.open(max_wait_ms=60_000))
        await until_all_wait()
        was_done_before = opening.done()
        bob.caller.is_gone = True
        world.groups.apis.forsake(bob.connection_id)
        await until_all_wait()
        is_done = opening.done()
        world.clock.advance(60_000)

    # Then
    assert (was_done_before, is_done) == (False, True)


async def test_a_fetch_whose_client_is_gone_does_not_fall_asleep() -> None:
    # Given
    parked = ParkedFetches(InMemoryAvailability(ManualClock()))

    # When
    await parked.wait({ShareGroupWorld.key(): None}, 60_000, replace(CONTEXT, caller=GoneCaller()))

    # Then
    assert len(parked) == 0


async def test_a_fetch_that_is_called_wakes_none_that_waits_for_no_share_partition() -> None:
    """Woken before its time, a client without room for its session would be refused at once, and ask again at once."""
    # Given
    availability = InMemoryAvailability(ManualClock())
    parked = ParkedFetches(availability)
    called = FetchSignals()
    FetchSignals().owe_call(ShareGroupWorld.key(), called)

    # When
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(parked.wait({}, 60_000, CONTEXT))
        await until_all_wait()
        availability.signal(called.own_key)
        await until_all_wait()
        was_woken = waiting.done()
        waiting.cancel()

    # Then
    assert not was_woken
