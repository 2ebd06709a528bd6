"""A fetch that waits for MinBytes: what it reads meanwhile, and when it has enough."""

import asyncio

from kproxy.error_codes import ErrorCode
from kproxy.net.relay.memory.answer_budget import AnswerBudget
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from tests.worlds.share_group_world import ORDERS, Member, ShareGroupWorld, acquired
from tests.worlds.waiting import until_all_wait

MEBIBYTE = 1 << 20


async def a_member_beside(world: ShareGroupWorld, *, partition_count: int = 1) -> Member:
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    for partition in range(partition_count):
        await world.initialize(partition=partition)
    alice = world.member()
    await alice.open(*[(ORDERS, partition) for partition in range(partition_count)])
    return alice


async def test_what_is_too_little_is_read_twice_however_many_records_are_added() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world)
    for _ in range(8):
        world.produce(1, size_bytes=10_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=MEBIBYTE, max_wait_ms=500))
        for _ in range(25):
            await until_all_wait()
            world.produce(1)
        await until_all_wait()
        world.clock.advance(500)

    # Then
    assert acquired(fetch.result()) == [(0, 32, 1)]
    from_the_beginning = [read for read in world.reader.reads if read.offset == 0]
    assert len(from_the_beginning) == 2
    assert max(read.max_bytes for read in world.reader.reads if read.offset > 0) == 65_536


async def test_the_records_are_given_out_as_soon_as_enough_was_added() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world)
    world.produce(1, size_bytes=10_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=40_000, max_wait_ms=500))
        for number in range(3):
            await until_all_wait()
            assert not fetch.done(), f"{number + 1} records are enough"
            world.produce(1, size_bytes=10_000)

    # Then
    assert acquired(fetch.result()) == [(0, 3, 1)]
    assert world.clock.now_ms() == 1_000


async def test_what_lies_behind_the_records_that_are_wanted_counts() -> None:
    """A stock broker counts the bytes of the log, and does not read them either (`DelayedShareFetch`)."""
    # Given
    world = ShareGroupWorld()
    alice = await a_member_beside(world)
    for _ in range(200):
        world.produce(1, size_bytes=10_000)
    await alice.fetch(max_records=1)

    # When
    answer = await alice.fetch(min_bytes=MEBIBYTE, max_records=5)

    # Then
    assert acquired(answer) == [(1, 5, 1)]
    assert world.reader.reads[-1].max_bytes < 100_000
    assert world.clock.now_ms() == 1_000


async def test_bytes_of_all_partitions_count_together() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world, partition_count=2)
    world.produce(1, partition=0, size_bytes=10_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=20_000, max_wait_ms=500))
        await until_all_wait()
        world.produce(1, partition=1, size_bytes=10_000)

    # Then
    assert acquired(fetch.result(), partition=0) == [(0, 0, 1)]
    assert acquired(fetch.result(), partition=1) == [(0, 0, 1)]
    assert world.clock.now_ms() == 1_000


async def test_added_batches_without_room_count_like_those_before_them() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world, partition_count=2)
    for partition in range(2):
        world.produce(1, partition=partition, size_bytes=90_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=350_000, max_wait_ms=500))
        await until_all_wait()
        for partition in range(2):
            world.log(partition=partition).append([b"x" * 90_000])
        world.availability.raise_high_watermark(ORDERS, 1, 2)

    # Then
    assert acquired(fetch.result(), partition=1) == [(0, 1, 1)]
    assert world.clock.now_ms() == 1_000


async def test_a_record_that_comes_back_meanwhile_is_read_from_its_own_offset() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world)
    world.produce(1, size_bytes=10_000)
    bob = world.member("bob")
    await bob.open(max_records=1)
    world.produce(1, size_bytes=10_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=15_000, max_wait_ms=500))
        await until_all_wait()
        await bob.acknowledge({(ORDERS, 0): [(0, 0, [2])]})

    # Then
    assert acquired(fetch.result()) == [(0, 0, 2), (1, 1, 1)]
    assert world.clock.now_ms() == 1_000


async def test_a_read_of_what_was_added_that_fails_is_told_as_every_other() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world)
    world.produce(1)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(min_bytes=10_000, max_wait_ms=500))
        await until_all_wait()
        world.reader.fail(ORDERS, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        world.produce(1)

    # Then
    (topic,) = fetch.result().responses
    assert topic.partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_what_a_read_of_what_was_added_may_bring_is_held_of_the_budget_until_it_was_looked_at() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    alice = await a_member_beside(world)
    budget = BufferBudget(MEBIBYTE)
    world.answer_budget = AnswerBudget(budget)
    world.produce(1)
    held: list[int] = []

    async def note_held() -> None:
        held.append(budget.held_bytes)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(min_bytes=100_000, max_wait_ms=500))
        await until_all_wait()
        world.reader.before_read = note_held
        world.produce(1)
        await until_all_wait()
        held.append(budget.held_bytes)
        world.clock.advance(500)

    # Then
    assert held[:2] == [65_536, 0]
