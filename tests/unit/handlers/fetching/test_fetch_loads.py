"""Share-partitions that are not live yet when a fetch asks for them."""

import asyncio

from kproxy.error_codes import ErrorCode
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
