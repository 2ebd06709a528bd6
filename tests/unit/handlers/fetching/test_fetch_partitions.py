"""The read-and-acquire loop: what it waits for, what wakes it, and that it never spins."""

import asyncio
from collections.abc import Mapping

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import SharePartitionKey
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


def awaited(world: ShareGroupWorld) -> Mapping[SharePartitionKey, int | None]:
    """What the last wait was for."""
    return world.availability.waits[-1][0]


# ---- waiting


async def test_without_records_the_answer_comes_when_the_wait_is_over() -> None:
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(max_wait_ms=500)

    # Then
    assert acquired(answer) == []
    assert world.clock.now_ms() == 1_500
    assert len(world.reader.reads) == 1


async def test_a_record_that_is_produced_during_the_wait_is_delivered_at_once() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    alice = world.member()
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        world.clock.advance(100)
        world.produce(3)

    # Then
    assert acquired(fetch.result()) == [(0, 2, 1)]
    assert world.clock.now_ms() == 1_100


async def test_a_released_record_wakes_another_member_and_comes_before_new_ones() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch())
        await until_all_wait()
        world.log().append([b"new"])
        await alice.acknowledge({(ORDERS, 0): [(3, 3, [2])]})

    # Then
    assert acquired(fetch.result()) == [(3, 3, 2), (5, 5, 1)]


async def test_an_expired_lock_wakes_another_member() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    world.produce(5)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=5)
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch(max_wait_ms=60_000))
        await until_all_wait()
        world.clock.advance(30_000)
        await world.expire()

    # Then
    assert acquired(fetch.result()) == [(0, 4, 2)]


async def test_a_full_window_is_not_read_until_something_comes_back() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world = ShareGroupWorld(limits=limits, passes_time=False)
    await world.initialize()
    world.produce(100)
    world.produce(100)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=100)
    await bob.open()
    reads_before = len(world.reader.reads)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch())
        await until_all_wait()
        waited_for, reads_while_full = awaited(world), len(world.reader.reads)
        await alice.acknowledge({(ORDERS, 0): [(7, 7, [2])]})

    # Then
    assert waited_for == {world.key(): None}
    assert reads_while_full == reads_before
    assert acquired(fetch.result()) == [(7, 7, 2)]


async def test_accepted_records_let_a_full_window_move_on_and_wake_who_waits_for_that() -> None:
    # Given
    limits = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=100))
    world = ShareGroupWorld(limits=limits, passes_time=False)
    await world.initialize()
    world.produce(100)
    world.produce(100)
    alice, bob = world.member("alice"), world.member("bob")
    await alice.open(max_records=100)
    await bob.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(bob.fetch())
        await until_all_wait()
        await alice.acknowledge({(ORDERS, 0): [(0, 99, [1])]})

    # Then
    assert acquired(fetch.result()) == [(100, 199, 1)]


async def test_less_than_min_bytes_is_waited_on_and_given_out_when_the_time_is_up() -> None:
    # Given
    world = await world_with_orders()
    world.produce(3)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(min_bytes=10_000, max_wait_ms=500)

    # Then
    assert acquired(answer) == [(0, 2, 1)]
    assert world.clock.now_ms() == 1_500
    assert world.availability.waits[-1] == ({world.key(): 3}, 1_500)


@pytest.mark.parametrize("partition_count", [1, 3])
async def test_a_log_that_ends_with_offsets_that_hold_nothing_is_not_read_again_before_it_grows(
    partition_count: int,
) -> None:
    """Compaction leaves such an end, where the last records were tombstones."""
    # Given
    world = await world_with_orders(passes_time=False, partition_count=partition_count)
    for partition in range(partition_count):
        world.log(partition=partition).append_gap(3)
        world.availability.raise_high_watermark(ORDERS, partition, 3)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(partition_count)))
    for partition in range(partition_count):
        await loaded(world.groups.directory, world.key(partition=partition))

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait(500)
        read_count, waited_for = len(world.reader.reads), awaited(world)
        world.produce(2)
        await until_all_wait()
        world.clock.advance(500)

    # Then
    assert waited_for == {world.key(partition=partition): 3 for partition in range(partition_count)}
    assert read_count == partition_count
    assert acquired(fetch.result()) == [(3, 4, 1)]


async def test_min_bytes_of_zero_does_not_wait() -> None:
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.open()

    # When
    await alice.fetch(min_bytes=0, max_wait_ms=500)

    # Then
    assert world.clock.now_ms() == 1_000


@pytest.mark.parametrize("nothing", [{"max_records": 0}, {"max_bytes": 0}])
async def test_a_request_for_nothing_is_answered_at_once(nothing: dict[str, int]) -> None:
    """Java sends such requests to maintain its session in record-limit mode."""
    # Given
    world = await world_with_orders()
    world.produce(3)
    alice = world.member()

    # When
    answer = await alice.fetch(add=[(ORDERS, 0)], **nothing)  # type: ignore[arg-type]  # integers, all of them

    # Then
    assert answer.error_code == ErrorCode.NONE
    assert world.clock.now_ms() == 1_000
    assert world.reader.reads == []


async def test_the_end_of_the_process_answers_parked_fetches_with_what_there_is() -> None:
    # Given
    world = await world_with_orders(passes_time=False)
    alice = world.member()
    await alice.open()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        world.groups.answer_what_waits()

    # Then
    assert fetch.result().error_code == ErrorCode.NONE
    assert world.clock.now_ms() == 1_000


# ---- budgets and turns


async def test_all_partitions_are_read_in_one_call_and_share_the_bytes() -> None:
    # Given
    world = await world_with_orders(partition_count=3)
    alice = world.member()
    partitions = [(ORDERS, partition) for partition in range(3)]
    await alice.open(*partitions)

    # When
    await alice.fetch(max_bytes=3_000, max_wait_ms=0)

    # Then
    assert {read.partition: read.max_bytes for read in world.reader.reads} == {0: 1_000, 1: 1_000, 2: 1_000}


async def test_fewer_bytes_than_partitions_serve_the_first_in_turn() -> None:
    # Given
    world = await world_with_orders(partition_count=3)
    alice = world.member()
    await alice.open(*[(ORDERS, partition) for partition in range(3)])

    # When
    await alice.fetch(max_bytes=2, max_wait_ms=0)

    # Then
    assert [(read.partition, read.max_bytes) for read in world.reader.reads] == [(0, 1), (1, 1)]


async def test_the_operator_bounds_what_any_request_may_ask_for() -> None:
    # Given
    world = ShareGroupWorld(limits=ShareGroupLimits(fetch_max_bytes=100))
    await world.initialize()
    alice = world.member()
    await alice.open()

    # When
    await alice.fetch(max_bytes=1 << 20)

    # Then
    assert [read.max_bytes for read in world.reader.reads] == [100]


@pytest.mark.parametrize(("min_bytes", "max_records"), [(40 << 20, 1), (1, 2**31 - 1)])
async def test_no_more_is_read_than_the_window_has_room_for(min_bytes: int, max_records: int) -> None:
    # Given
    world = await world_with_orders()
    world.produce(100, size_bytes=1_000)
    alice = world.member()
    await alice.open()
    await alice.fetch()

    # When
    await alice.fetch(max_bytes=50 << 20, min_bytes=min_bytes, max_records=max_records)

    # Then
    assert world.reader.reads[-1].max_bytes < 1_900 * 1_100


async def test_nobody_waits_for_more_bytes_than_an_answer_may_have() -> None:
    # Given
    world = await world_with_orders()
    world.produce(10)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(min_bytes=10_000, max_bytes=100)

    # Then
    assert acquired(answer) == [(0, 9, 1)]
    assert world.clock.now_ms() == 1_000


async def test_a_batch_larger_than_max_bytes_is_delivered_all_the_same() -> None:
    # Given
    world = await world_with_orders()
    world.produce(1, size_bytes=5_000)
    alice = world.member()
    await alice.open()

    # When
    answer = await alice.fetch(max_bytes=1)

    # Then
    assert acquired(answer) == [(0, 0, 1)]


async def test_max_records_is_one_budget_for_all_partitions_and_each_comes_first_in_its_turn() -> None:
    # Given
    world = await world_with_orders(partition_count=2)
    for partition in range(2):
        for _ in range(4):
            world.produce(5, partition=partition)
    alice = world.member()
    await alice.open((ORDERS, 0), (ORDERS, 1))

    # When
    first, second = await alice.fetch(max_records=5), await alice.fetch(max_records=5)

    # Then
    assert (acquired(first, partition=0), acquired(first, partition=1)) == ([(0, 4, 1)], [])
    assert (acquired(second, partition=0), acquired(second, partition=1)) == ([], [(0, 4, 1)])


# ---- what may go wrong


async def test_a_read_that_fails_ends_the_fetch_with_its_error() -> None:
    # Given
    world = await world_with_orders()
    alice = world.member()
    await alice.open()
    world.reader.fail(ORDERS, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.metadata.move_leader(ORDERS, 0, PartitionLeader(1, 4))

    # When
    answer = await alice.fetch(max_wait_ms=500)

    # Then
    data = partitions_of(answer)[ORDERS, 0]
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 4)
    assert data.records == b""
    assert world.clock.now_ms() == 1_000
    assert world.metadata.confirmed == [{ORDERS}]
    assert world.observer.reasons == ["not_leader_or_follower"]
