"""Share-partitions that are not live yet when a fetch asks for them."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from tests.worlds.share_group_world import (
    ORDERS,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait


async def test_a_share_partition_that_is_discarded_during_its_read_is_loaded_and_read_again() -> None:
    # Given
    world = await world_with_orders()
    world.produce(3)
    alice = world.member()
    await alice.open()

    async def discard_once() -> None:
        world.reader.before_read = None
        world.groups.directory.discard(world.key())

    world.reader.before_read = discard_once

    # When
    answer = await alice.fetch()

    # Then
    assert acquired(answer) == [(0, 2, 1)]
    assert world.clock.now_ms() == 1_000
    assert world.state_log.loads == [world.key(), world.key()]


async def test_a_partition_that_another_request_still_loads_is_left_out_of_the_answer() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    world.state_log.hold_loads = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member("alice").fetch(add=[(ORDERS, 0)], max_wait_ms=0))
        fetch = tasks.create_task(world.member("bob").fetch(add=[(ORDERS, 0)], max_wait_ms=500))
        await until_all_wait()
        world.clock.advance(500)
        await until_all_wait()
        world.state_log.hold_loads.set()

    # Then
    assert fetch.result().error_code == ErrorCode.NONE
    assert fetch.result().responses == []


async def test_a_load_that_ends_while_a_wide_fetch_begins_others_is_not_slept_on() -> None:
    """Whoever begins many loads pauses in between, and all that is not live yet is being loaded in the end."""
    # Given
    count, hung = MOST_AT_FIRST + 10, asyncio.Event()
    world = await world_with_orders(passes_time=False, partition_count=count)
    world.produce(3)
    world.state_log.hold_loads_of = {world.key(partition=number): hung for number in range(1, count)}

    # When
    async with asyncio.TaskGroup() as tasks:
        add = [(ORDERS, number) for number in range(count)]
        fetch = tasks.create_task(world.member().fetch(add=add, max_wait_ms=500))
        await until_all_wait(100)
        was_done = fetch.done()
        hung.set()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 2, 1)]
