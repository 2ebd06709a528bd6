"""What a fetch waits for: a wide interest is registered from its first wait until its fetch ends, whatever ends it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.handlers.interest import MOST_ANEW, Interest
from kproxy.share.identifiers import SharePartitionKey
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    partitions_of,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

WIDE = MOST_ANEW + 10
ENOUGH_BYTES = 1_000


def key(partition: int) -> SharePartitionKey:
    return ShareGroupWorld.key(partition=partition)


class Registered:
    """Counts how often it was ended."""

    def __init__(self) -> None:
        self.end_count = 0

    def end(self) -> None:
        self.end_count += 1


@pytest.mark.parametrize(("count", "is_wide"), [(MOST_ANEW, False), (MOST_ANEW + 1, True)])
def test_an_interest_in_many_share_partitions_is_wide(count: int, *, is_wide: bool) -> None:
    # When
    interest = Interest(map(key, range(count)))

    # Then
    assert interest.is_wide is is_wide
    assert interest == dict.fromkeys(map(key, range(count)))


def test_once_it_is_registered_what_changes_is_noted() -> None:
    # Given
    interest = Interest(map(key, range(WIDE)))
    interest[key(0)] = 5
    interest.registration = Registered()

    # When
    interest[key(1)] = 5
    del interest[key(2)]

    # Then
    assert interest.changed == {key(1), key(2)}


def test_what_was_looked_at_or_is_waited_for_no_more_is_no_news() -> None:
    # Given
    interest = Interest(map(key, range(WIDE)))
    interest[key(0)] = 5
    interest.registration = Registered()
    interest.news.update(map(key, range(3)))

    # When
    interest.look_at([key(0)])
    del interest[key(1)]

    # Then
    assert interest.news == {key(2)}
    assert interest[key(0)] is None
    assert interest.changed == {key(0), key(1)}


def test_it_ends_its_registration_once() -> None:
    # Given
    interest, registered = Interest(map(key, range(WIDE))), Registered()
    interest.registration = registered
    interest[key(0)] = 5
    interest.news.add(key(1))

    # When
    interest.end()
    interest.end()

    # Then
    assert registered.end_count == 1
    assert (interest.changed, interest.news) == (set(), set())


async def a_wide_session() -> tuple[ShareGroupWorld, Member]:
    world = await world_with_orders(passes_time=False, partition_count=WIDE)
    alice = world.member()
    await alice.open(*((ORDERS, number) for number in range(WIDE)))
    return world, alice


async def test_a_wide_fetch_that_is_woken_for_one_partition_reads_that_one_and_delivers_it() -> None:
    # Given
    world, alice = await a_wide_session()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.reader.reads.clear()
        world.produce(1, partition=33)

    # Then
    assert [partition for (_, partition), data in partitions_of(fetch.result()).items() if data.records] == [
        33
    ]
    assert [read.partition for read in world.reader.reads] == [33]


async def test_records_of_another_partition_that_come_while_a_wide_fetch_reads_wake_it_afterwards() -> None:
    # Given
    world, alice = await a_wide_session()

    async def produce_elsewhere() -> None:
        world.reader.before_read = None
        world.produce(1, partition=7)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000, min_bytes=ENOUGH_BYTES))
        await until_all_wait()
        world.reader.before_read = produce_elsewhere
        world.produce(1, partition=33)
        await until_all_wait()
        world.produce(1, partition=5, size_bytes=ENOUGH_BYTES)

    # Then
    found = {partition for (_, partition), data in partitions_of(fetch.result()).items() if data.records}
    assert found == {5, 7, 33}


async def test_a_signal_while_a_wide_fetch_reads_another_partition_wakes_it_afterwards() -> None:
    # Given
    world, alice = await a_wide_session()
    bob = world.member("bob")
    world.produce(1, partition=7)
    await bob.open((ORDERS, 7), max_records=1)

    async def release() -> None:
        world.reader.before_read = None
        await bob.acknowledge({(ORDERS, 7): [(0, 0, [2])]})

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000, min_bytes=ENOUGH_BYTES))
        await until_all_wait()
        world.reader.before_read = release
        world.produce(1, partition=33)
        await until_all_wait()
        world.produce(1, partition=5, size_bytes=ENOUGH_BYTES)

    # Then
    assert acquired(fetch.result(), partition=7) == [(0, 0, 2)]


async def its_records_come(world: ShareGroupWorld, _: Member) -> None:
    world.produce(1)


async def its_time_is_up(world: ShareGroupWorld, _: Member) -> None:
    world.clock.advance(60_000)


async def its_connection_goes(_: ShareGroupWorld, alice: Member) -> None:
    await alice.disconnect()


async def its_session_is_replaced(world: ShareGroupWorld, _: Member) -> None:
    await world.member().open()


async def the_process_ends(world: ShareGroupWorld, _: Member) -> None:
    world.groups.answer_what_waits()


@pytest.mark.parametrize(
    "happens",
    [its_records_come, its_time_is_up, its_connection_goes, its_session_is_replaced, the_process_ends],
)
async def test_whatever_ends_a_wide_fetch_nothing_of_it_stays_registered(
    happens: Callable[[ShareGroupWorld, Member], Awaitable[None]],
) -> None:
    # Given
    world, alice = await a_wide_session()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        registered_count = world.availability.waiter_count
        await happens(world, alice)

    # Then
    assert registered_count == 1
    assert world.availability.waiter_count == 0


async def test_a_wide_fetch_that_is_cancelled_leaves_nothing_registered() -> None:
    # Given
    world, alice = await a_wide_session()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=60_000))
        await until_all_wait()
        fetch.cancel()

    # Then
    assert world.availability.waiter_count == 0
