"""Fetches side by side: nobody starves, and nobody sleeps on beside readable records."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.errors import StateLogUnavailable
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acquired,
    loaded,
    partitions_of,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait


async def test_what_comes_back_in_one_partition_while_another_is_read_is_not_slept_on() -> None:
    """Nobody has asked to be woken for the first partition at that moment: its window is full."""
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=5))
    world = await world_with_orders(passes_time=False, partition_count=2, limits=limits)
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open((ORDERS, 0), (ORDERS, 1))
    await loaded(world.groups.directory, world.key(partition=1))

    async def release_meanwhile() -> None:
        world.reader.before_read = None
        await alice.disconnect()

    world.reader.before_read = release_meanwhile

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait(100)
        world.clock.advance(500)

    # Then
    assert acquired(fetch.result()) == [(0, 4, 2)]
    assert fetch.result().error_code == ErrorCode.NONE


async def test_a_batch_larger_than_the_usual_read_is_delivered_beside_a_busy_partition() -> None:
    """A broker sends a batch above the limits for the first partition of a request only."""
    # Given
    world = await world_with_orders(partition_count=2)
    world.produce(1, partition=1, size_bytes=300_000)
    alice = world.member()
    await alice.open((ORDERS, 0), (ORDERS, 1))
    for key in (world.key(partition=0), world.key(partition=1)):
        await loaded(world.groups.directory, key)
        world.groups.directory.read_size(key).observe(size_bytes=100, offset_count=100)
    delivered: list[tuple[int, int, int]] = []

    # When
    for number in range(8):
        world.produce(1)
        answer = await alice.fetch(max_records=1)
        delivered += acquired(answer, partition=1)
        await alice.acknowledge({(ORDERS, 0): [(number, number, [1])]} if acquired(answer) else None)

    # Then
    assert delivered == [(0, 0, 1)]


async def test_a_batch_that_a_read_had_no_room_for_comes_first_in_the_next_fetch() -> None:
    # Given
    world = await world_with_orders(partition_count=3)
    partitions = [(ORDERS, partition) for partition in range(3)]
    alice = world.member()
    await alice.open(*partitions)
    for _, partition in partitions:
        key = world.key(partition=partition)
        await loaded(world.groups.directory, key)
        world.groups.directory.read_size(key).observe(size_bytes=100, offset_count=100)
        world.produce(1, partition=partition, size_bytes=300_000 if partition == 2 else 8)
    first = await alice.fetch(max_records=1)
    world.produce(1)

    # When
    second = await alice.fetch(max_records=1)

    # Then
    assert acquired(first, partition=2) == []
    assert acquired(second, partition=2) == [(0, 0, 1)]


async def test_a_batch_without_room_beside_a_record_that_another_member_took_is_not_slept_on() -> None:
    """While one leader hangs, what the other one has is left to others: what was read of it may be gone by then."""
    # Given
    world = await world_with_orders(passes_time=False, partition_count=2)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open((ORDERS, 0))
    await bob.open((ORDERS, 0), (ORDERS, 1))
    for partition, size_bytes in enumerate((8, 300_000)):
        key = world.key(partition=partition)
        await loaded(world.groups.directory, key)
        world.groups.directory.read_size(key).observe(size_bytes=100, offset_count=100)
        world.produce(1, partition=partition, size_bytes=size_bytes)
    late_leader = world.reader.held[ORDERS, 1] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait()
        taken = await alice.fetch(max_wait_ms=0)
        late_leader.set()
        await until_all_wait(100)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(taken) == [(0, 0, 1)]
    assert acquired(fetch.result(), partition=1) == [(0, 0, 1)]


async def test_a_log_that_ends_below_the_next_fetch_offset_is_read_once_a_wait() -> None:
    """An unclean election took records back: a tail at the offset says so again and again, and one at the end waits."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize(start_offset=50)
    world.produce(5)
    alice = world.member()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(add=[(ORDERS, 0)], max_wait_ms=500))
        await until_all_wait(200)
        reads_before_the_end = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert reads_before_the_end == 1
    assert world.availability.waits[-1][0] == {world.key(): 5}


async def test_a_member_that_waits_for_many_bytes_keeps_nobody_from_the_few_there_are() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    await world.initialize()
    patient, eager = world.member("patient"), world.member("eager")
    await patient.open()
    await eager.open()
    await loaded(world.groups.directory, world.key())
    world.log().append([b"record"])
    reading = asyncio.Event()

    async def hold() -> None:
        world.reader.before_read = None
        await reading.wait()

    world.reader.before_read = hold

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait()
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait()
        reading.set()
        await until_all_wait(100)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 0, 1)]


async def test_a_start_offset_that_cannot_be_written_spoils_nothing_of_the_other_partitions() -> None:
    """The share-partition is discarded in the middle of the fetch; what was acquired elsewhere has to be told."""
    # Given
    world = await world_with_orders(partition_count=2)
    alice, bob = world.member("alice"), world.member("bob")
    world.produce(5, partition=1)
    await alice.open((ORDERS, 1), max_records=5)
    await bob.open((ORDERS, 0), (ORDERS, 1))
    await loaded(world.groups.directory, world.key(partition=0))
    for partition in range(2):
        world.produce(5, partition=partition)
    world.log(partition=1).move_start(5)
    world.state_log.persist_failure = StateLogUnavailable("the queue is full")

    # When
    answer = await bob.fetch()

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert acquired(answer) == [(0, 4, 1)]
    assert acquired(answer, partition=1) == []


# ---- what an answer may hold


async def test_no_more_is_read_than_the_answer_may_hold_until_its_client_takes_it() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    budget = BufferBudget(100_000)
    world.answer_budget = AnswerBudget(budget)
    for partition in range(2):
        for _ in range(20):
            world.produce(1, partition=partition, size_bytes=10_000)

    # When
    answer = await world.member().fetch(add=[(ORDERS, 0), (ORDERS, 1)])

    # Then
    assert sum(len(data.records) for data in partitions_of(answer).values()) <= 100_000
    assert budget.held_bytes == 100_000


async def test_a_fetch_that_waits_for_records_holds_no_memory_for_them() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    budget = BufferBudget(100_000)
    world.answer_budget = AnswerBudget(budget)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=500))
        await until_all_wait(100)
        held = budget.held_bytes
        world.clock.advance(500)

    # Then
    assert len(world.reader.reads) == 1
    assert held == 0
