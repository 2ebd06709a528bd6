"""Fetches that wait for many bytes beside those that take what there is: nobody keeps records from anybody."""

import asyncio

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

BOTH = ((ORDERS, 0), (ORDERS, 1))


def let_reads_take(world: ShareGroupWorld, turn_count: int) -> None:
    """Have each read take so many turns of the loop."""

    async def take_turns() -> None:
        for _ in range(turn_count):
            await asyncio.sleep(0)

    world.reader.before_read = take_turns


def hold_next_read(world: ShareGroupWorld) -> asyncio.Event:
    """Have the next read, and no later one, wait for the event."""
    may_go_on = asyncio.Event()

    async def hold() -> None:
        world.reader.before_read = None
        await may_go_on.wait()

    world.reader.before_read = hold
    return may_go_on


async def a_patient_and_an_eager_member(
    *eager_partitions: int, partition_count: int
) -> tuple[ShareGroupWorld, Member, Member]:
    """Return members with open sessions; the patient one has all partitions."""
    world = await world_with_orders(passes_time=False, partition_count=partition_count)
    patient, eager = world.member("patient"), world.member("eager")
    await patient.open(*((ORDERS, partition) for partition in range(partition_count)))
    await eager.open(*((ORDERS, partition) for partition in eager_partitions))
    for partition in range(partition_count):
        key = world.key(partition=partition)
        await loaded(world.groups.directory, key)
        world.groups.directory.read_size(key).observe(size_bytes=100, offset_count=1)
    return world, patient, eager


@pytest.mark.parametrize("turn_count", [0, 1, 2, 5, 10])
async def test_who_comes_while_a_patient_fetch_reads_gets_the_few_records_there_are(turn_count: int) -> None:
    # Given
    world, patient, eager = await a_patient_and_an_eager_member(0, partition_count=1)
    world.log().append([b"record"])
    may_go_on = hold_next_read(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait()
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait()
        let_reads_take(world, turn_count)
        may_go_on.set()
        await until_all_wait(300)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 0, 1)]


@pytest.mark.parametrize("turn_count", [0, 1, 5])
async def test_a_record_that_wakes_a_patient_and_an_eager_fetch_is_acquired_by_the_eager_one(
    turn_count: int,
) -> None:
    # Given
    world, patient, eager = await a_patient_and_an_eager_member(0, partition_count=1)
    let_reads_take(world, turn_count)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait(50)
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait(50)
        world.produce(1)
        await until_all_wait(300)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 0, 1)]


async def test_who_comes_while_a_patient_fetch_looks_at_what_was_added_gets_what_was_there_before() -> None:
    """That look is for news of the other partition, and brings no bytes of this one."""
    # Given
    world, patient, eager = await a_patient_and_an_eager_member(0, partition_count=2)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait(50)
        world.produce(1, partition=0)
        await until_all_wait(50)
        may_go_on = hold_next_read(world)
        world.produce(1, partition=1)
        await until_all_wait(50)
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait(50)
        may_go_on.set()
        await until_all_wait(200)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 0, 1)]


async def test_who_comes_while_a_patient_fetch_has_no_room_for_a_large_batch_gets_it() -> None:
    # Given
    world, patient, eager = await a_patient_and_an_eager_member(1, partition_count=2)
    world.log(partition=0).append([b"small"])
    world.log(partition=1).append([b"x" * 300_000])
    may_go_on = hold_next_read(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(patient.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait(50)
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait(50)
        may_go_on.set()
        await until_all_wait(200)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result(), partition=1) == [(0, 0, 1)]


@pytest.mark.parametrize("member_count", [1, 10, 40])
@pytest.mark.parametrize("partition_count", [1, 3])
async def test_a_record_that_is_too_little_for_many_patient_fetches_costs_a_few_reads_for_each(
    member_count: int, partition_count: int
) -> None:
    """They are called one by one; if each of them woke all the others, they would read without end."""
    # Given
    world = await world_with_orders(passes_time=False, partition_count=partition_count)
    members = [world.member(f"member {number}") for number in range(member_count)]
    for number, member in enumerate(members):
        await member.open(
            *((ORDERS, (number + i) % partition_count) for i in range(1 + number % partition_count))
        )
    for partition in range(partition_count):
        await loaded(world.groups.directory, world.key(partition=partition))
    let_reads_take(world, 5)

    # When
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait(20 * member_count + 200)
        world.reader.reads.clear()
        world.availability.waits.clear()
        for partition in range(partition_count):
            world.produce(1, partition=partition)
        await until_all_wait(100 * member_count + 200)
        read_count, wait_count = len(world.reader.reads), len(world.availability.waits)
        world.clock.advance(500)

    # Then
    assert read_count <= 3 * member_count * partition_count
    assert wait_count <= 5 * member_count


async def test_a_call_reaches_an_eager_fetch_behind_patient_ones_that_asked_before_it() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    members = [world.member(f"patient {number}") for number in range(5)]
    eager = world.member("eager")
    for member in (*members, eager):
        await member.open()
    await loaded(world.groups.directory, world.key())
    world.log().append([b"record"])
    may_go_on = hold_next_read(world)

    # When
    async with asyncio.TaskGroup() as tasks:
        for member in members:
            tasks.create_task(member.fetch(min_bytes=1_000_000, max_wait_ms=500))
        await until_all_wait()
        fetch = tasks.create_task(eager.fetch(max_wait_ms=500))
        await until_all_wait()
        await members[1].disconnect()
        let_reads_take(world, 3)
        may_go_on.set()
        await until_all_wait(300)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done
    assert acquired(fetch.result()) == [(0, 0, 1)]


# ---- what one fetch has found, and has not looked at


async def test_fewer_max_bytes_than_partitions_keep_no_partition_from_being_read() -> None:
    """Each partition of a read takes a byte at least, so that they are read one after the other."""
    # Given
    world = await world_with_orders(passes_time=False, partition_count=3)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(3)))
    for partition in range(3):
        await loaded(world.groups.directory, world.key(partition=partition))
    world.produce(1, partition=2)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_bytes=1, max_wait_ms=500))
        await until_all_wait(200)
        was_done = fetch.done()
        read_partitions = [read.partition for read in world.reader.reads]
        world.clock.advance(500)

    # Then
    assert was_done
    assert read_partitions == [0, 1, 2]
    assert acquired(fetch.result(), partition=2) == [(0, 0, 1)]


async def test_a_fetch_of_fewer_bytes_than_partitions_sleeps_when_all_were_read() -> None:
    # Given
    world = await world_with_orders(passes_time=False, partition_count=3)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(3)))
    for partition in range(3):
        await loaded(world.groups.directory, world.key(partition=partition))

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(max_bytes=1, max_wait_ms=500))
        await until_all_wait(200)
        read_count = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert read_count == 3


@pytest.mark.parametrize("is_asleep_before", [False, True])
@pytest.mark.parametrize("large_partitions", [(1,), (0, 1)])
async def test_min_bytes_that_are_there_are_not_slept_on_because_a_batch_had_no_room(
    large_partitions: tuple[int, ...], *, is_asleep_before: bool
) -> None:
    """How large such a batch is can only be told by a read that has room for it."""
    # Given
    world, alice, _ = await a_patient_and_an_eager_member(0, partition_count=2)

    # When
    async with asyncio.TaskGroup() as tasks:
        if not is_asleep_before:
            world.produce(1, partition=0)
            for partition in large_partitions:
                world.produce(1, partition=partition, size_bytes=300_000)
        fetch = tasks.create_task(alice.fetch(min_bytes=200_000, max_wait_ms=500))
        await until_all_wait(50)
        if is_asleep_before:
            world.produce(1, partition=0)
            await until_all_wait(50)
            for partition in large_partitions:
                world.produce(1, partition=partition, size_bytes=300_000)
        await until_all_wait(200)
        was_done = fetch.done()
        world.clock.advance(500)

    # Then
    assert was_done


async def test_batches_without_room_in_several_partitions_are_not_read_again_and_again() -> None:
    # Given
    world, alice, _ = await a_patient_and_an_eager_member(0, partition_count=2)
    for partition in range(2):
        world.produce(1, partition=partition)
        world.produce(1, partition=partition, size_bytes=300_000)

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(min_bytes=50_000_000, max_wait_ms=500))
        await until_all_wait(200)
        read_count = len(world.reader.reads)
        world.clock.advance(500)

    # Then
    assert read_count <= 8
