"""Reads that a broker's quotas hold back: what clients are told, and that nobody is kept busy by them."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import Throttle
from tests.worlds.share_group_world import ORDERS, ShareGroupWorld, acquired, partitions_of, world_with_orders
from tests.worlds.waiting import until_all_wait

ACCEPT = 1


async def test_a_fetch_whose_read_exceeds_the_quotas_is_answered_at_once_with_nothing_but_the_time_to_wait() -> (
    None
):
    """`KafkaApis.handleShareFetchRequest`: the answer of a throttled fetch names no partition."""
    # Given
    world = await world_with_orders()
    world.produce(3)
    alice = world.member()
    world.reader.throttle = Throttle(3_000, is_new=True)
    began_ms = world.clock.now_ms()

    # When
    answer = await alice.fetch(add=[(ORDERS, 0)])

    # Then
    assert (answer.error_code, answer.throttle_time_ms, answer.responses) == (ErrorCode.NONE, 3_000, [])
    assert world.clock.now_ms() == began_ms


async def test_a_fetch_that_comes_while_the_time_runs_waits_for_its_end_and_then_reads() -> None:
    # Given
    world = await throttled_world(500)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=2_000))
        await until_all_wait()
        world.reader.throttle = None
        world.clock.advance(500)
    answer = fetch.result()

    # Then
    assert acquired(answer) == [(0, 2, 1)]
    assert answer.throttle_time_ms == 0


async def test_a_fetch_that_waited_for_its_end_sleeps_while_another_one_reads() -> None:
    # Given
    world = await throttled_world(500)

    # When
    async with asyncio.TaskGroup() as tasks:
        for name in ("alice", "bob"):
            tasks.create_task(world.member(name).fetch(add=[(ORDERS, 0)], max_wait_ms=2_000))
            await until_all_wait()
        world.reader.throttle = None
        world.reader.held[ORDERS, 0] = asyncio.Event()
        world.clock.advance(500)
        await until_all_wait(200)
        waiting_until = [until_ms for _, until_ms in world.availability.waits]
        world.reader.held[ORDERS, 0].set()
        await until_all_wait()
        world.clock.advance(2_000)

    # Then
    assert waiting_until[-3:] == [1_500, 1_500, 3_000]


async def test_a_fetch_whose_wait_ends_before_that_time_is_told_the_rest_of_it() -> None:
    # Given
    world = await throttled_world(3_000, passes_time=True)
    began_ms = world.clock.now_ms()

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=2_000)

    # Then
    assert (answer.throttle_time_ms, answer.responses) == (1_000, [])
    assert world.clock.now_ms() == began_ms + 2_000
    assert len(world.reader.reads) == 1


async def test_acknowledgements_of_a_throttled_fetch_take_effect_and_are_answered() -> None:
    # Given
    world = await world_with_orders()
    world.produce(3)
    alice = world.member()
    await alice.open()
    await alice.fetch()
    world.reader.throttle = Throttle(3_000, is_new=True)

    # When
    answer = await alice.fetch(acks={(ORDERS, 0): [(0, 2, [ACCEPT])]})

    # Then
    assert answer.throttle_time_ms == 3_000
    assert partitions_of(answer)[ORDERS, 0].acknowledge_error_code == ErrorCode.NONE
    assert acquired(answer) == []


async def throttled_world(throttle_ms: int, *, passes_time: bool = False) -> ShareGroupWorld:
    """Three records, and a leader that wants no reads for so long."""
    world = await world_with_orders(passes_time=passes_time)
    world.produce(3)
    world.reader.throttle = Throttle(throttle_ms, is_new=False)
    return world
