"""What is signalled while a fetch looks elsewhere neither keeps it awake for ever nor is lost."""

import asyncio
from typing import TypeAlias

import pytest

from kproxy.errors import CoordinatorLoadInProgress
from kproxy.handlers.live.pauses import MOST_AT_FIRST, MOST_AT_ONCE
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.limits import ShareLimits
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.worlds.share_group_world import (
    ORDERS,
    ShareGroupWorld,
    acquired,
    loaded,
)
from tests.worlds.waiting import until_all_wait

Task: TypeAlias = asyncio.Task[ShareFetchResponse]

BOTH = ((ORDERS, 0), (ORDERS, 1))


async def a_world_of_two(*, is_second_initialized: bool = True) -> ShareGroupWorld:
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    for partition in range(1 + is_second_initialized):
        await world.initialize(partition=partition)
    return world


async def test_signals_of_a_partition_that_was_refused_do_not_make_a_fetch_read_without_end() -> None:
    """They are given to all of a slot when that is loaded again."""
    # Given
    world = await a_world_of_two(is_second_initialized=False)

    async def end_an_endless_loop() -> None:
        if len(world.reader.reads) > 20:
            world.clock.advance(500)

    world.reader.before_read = end_an_endless_loop

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(world.member("alice").fetch(add=BOTH, max_wait_ms=500))
        await until_all_wait(50)
        read_count = len(world.reader.reads)
        world.discard([world.key(partition=partition) for partition in range(2)])
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
    world.state_log.refusals[loading] = CoordinatorLoadInProgress("replaying")

    async def become_ready() -> None:
        world.reader.before_read = None
        del world.state_log.refusals[loading]
        world.groups.discard_live([loading.group_id])

    world.reader.before_read = become_ready

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(world.member().fetch(add=BOTH, max_wait_ms=500))
        await until_all_wait(100)
        world.clock.advance(500)

    # Then
    assert acquired(fetch.result(), partition=1) == [(0, 2, 1)]


async def a_fetch_asleep(partition_count: int, *, min_bytes: int = 1) -> tuple[ShareGroupWorld, Task]:
    """Return a fetch of alice's that has found nothing in any of her partitions."""
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=partition_count)
    alice = world.member("alice")
    for partition in range(partition_count):
        await world.initialize(partition=partition)
    await alice.open(*((ORDERS, partition) for partition in range(partition_count)))
    for partition in range(partition_count):
        await loaded(world.groups.directory, world.key(partition=partition))
    fetch = alice.fetch(max_wait_ms=500, min_bytes=min_bytes)
    task = asyncio.get_running_loop().create_task(fetch)
    await until_all_wait(50)
    assert len(world.reader.reads) == partition_count
    world.reader.reads.clear()
    return world, task


async def test_a_fetch_that_is_woken_for_one_partition_reads_that_one() -> None:
    """Anybody can have thousands of partitions woken, one by one, by releasing records."""
    # Given
    world, task = await a_fetch_asleep(10)

    # When
    world.discard([world.key(partition=7)])
    await until_all_wait(50)
    after_the_signal = [read.partition for read in world.reader.reads]
    world.produce(1, partition=3)
    await until_all_wait(50)
    answer = await task

    # Then
    assert after_the_signal == [7]
    assert [read.partition for read in world.reader.reads] == [7, 3]
    assert acquired(answer, partition=3) == [(0, 0, 1)]


@pytest.mark.parametrize("turn_count", range(5))
async def test_what_is_discarded_while_a_fetch_looks_at_very_many_partitions_is_loaded_again(
    turn_count: int,
) -> None:
    """Others go on in the middle of such a look."""
    # Given
    world, task = await a_fetch_asleep(MOST_AT_ONCE + 1)
    world.groups.configs.on_altered(["g"])
    await until_all_wait(turn_count)

    # When
    world.discard([world.key()])
    await until_all_wait(50)
    world.produce(1)
    await until_all_wait(50)
    world.clock.advance(500)

    # Then
    assert acquired(await task) == [(0, 0, 1)]
    assert world.state_log.loads.count(world.key()) == 2


async def test_what_was_too_little_in_one_partition_counts_when_another_one_wakes_the_fetch() -> None:
    # Given
    world, task = await a_fetch_asleep(3, min_bytes=1_000)

    # When
    world.produce(1, size_bytes=700)
    await until_all_wait(50)
    was_too_little = not task.done()
    world.produce(1, partition=2, size_bytes=700)
    await until_all_wait(50)
    answer = await task

    # Then
    assert was_too_little
    assert acquired(answer) == acquired(answer, partition=2) == [(0, 0, 1)]
    assert 1 not in [read.partition for read in world.reader.reads]


async def test_a_window_that_is_made_larger_wakes_a_fetch_that_waits_for_room() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world = ShareGroupWorld(limits=limits, passes_time=False)
    await world.initialize()
    world.produce(100)
    await world.member("alice").open(max_records=100)
    world.produce(5)
    bob = world.member("bob")
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait(50)
        was_waiting = not fetch.done()
        world.configure("share.partition.max.record.locks", "200")

    # Then
    assert was_waiting
    assert acquired(fetch.result()) == [(100, 104, 1)]


@pytest.mark.parametrize("turn_count", range(12))
async def test_uncommitted_records_wake_a_fetch_that_may_read_them_from_now_on_wherever_it_is(
    turn_count: int,
) -> None:
    """The fetch is about to sleep, or asleep, or begins to look at very many partitions."""
    # Given
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=MOST_AT_FIRST + 10)
    for partition in range(MOST_AT_FIRST + 10):
        await world.initialize(partition=partition)
    world.configure("share.isolation.level", "read_committed")
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(MOST_AT_FIRST + 10)))
    await alice.fetch(max_wait_ms=0)
    log = world.log(partition=MOST_AT_FIRST + 5)
    log.append_in_transaction([b"pending"], producer_id=7)
    world.tell_of_records(partition=MOST_AT_FIRST + 5)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait(turn_count)
        was_answered = fetch.done()
        world.configure("share.isolation.level", "read_uncommitted")

    # Then
    assert not was_answered
    assert acquired(fetch.result(), partition=MOST_AT_FIRST + 5) == [(0, 0, 1)]
