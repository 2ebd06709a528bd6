"""Reads from several leaders, of which one may hang."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import PartitionLeader
from kproxy.handlers.share_groups import ShareGroupLimits
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.share.limits import ShareLimits
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acquired,
    loaded,
)
from tests.worlds.waiting import until_all_wait

BOTH = ((ORDERS, 0), (ORDERS, 1))


SMALL_WINDOW = ShareGroupLimits(share=ShareLimits(partition_max_record_locks=10))


async def a_world_with_two_leaders(
    limits: ShareGroupLimits | None = None,
) -> tuple[ShareGroupWorld, Member, Member]:
    """Alice fetches both partitions on the bootstrap port, Bob the first."""
    world = ShareGroupWorld(passes_time=False, node_ids=(1, 2), limits=limits)
    world.metadata.create_topic("orders", ORDERS, partition_count=2)
    world.metadata.move_leader(ORDERS, 1, PartitionLeader(leader_id=2, leader_epoch=7))
    alice, bob = world.member("alice", node_id=BOOTSTRAP_NODE_ID), world.member("bob")
    for _, partition in BOTH:
        await world.initialize(partition=partition)
    await alice.open(*BOTH)
    await bob.open((ORDERS, 0))
    for _, partition in BOTH:
        await loaded(world.groups.directory, world.key(partition=partition))
    return world, alice, bob


async def a_full_window() -> tuple[ShareGroupWorld, Member, Member, Member]:
    """Bob fetches both partitions; Alice and Carol the first, of which Alice holds all that may be in flight."""
    world, bob, alice = await a_world_with_two_leaders(SMALL_WINDOW)
    carol = world.member("carol")
    await carol.open((ORDERS, 0))
    for _ in range(10):
        world.produce(5)
    assert acquired(await alice.fetch(max_records=10)) == [(0, 9, 1)]
    return world, bob, alice, carol


async def test_a_leader_that_hangs_keeps_no_other_member_from_the_records_of_one_that_answers() -> None:
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    world.reader.held[ORDERS, 1] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        world.produce(3)
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait(50)
        is_answered = fetch.done()
        world.clock.advance(500)
        world.reader.held[ORDERS, 1].set()

    # Then
    assert is_answered
    assert acquired(fetch.result()) == [(0, 2, 1)]


async def test_who_waits_for_the_turn_is_called_when_the_leader_has_answered_and_another_one_has_not() -> (
    None
):
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    world.produce(3)
    for _, partition in BOTH:
        world.reader.held[ORDERS, partition] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(alice.fetch(max_wait_ms=500))
        await until_all_wait()
        fetch = tasks.create_task(bob.fetch(max_wait_ms=500))
        await until_all_wait()
        world.reader.held[ORDERS, 0].set()
        await until_all_wait(50)
        is_answered = fetch.done()
        world.clock.advance(500)
        world.reader.held[ORDERS, 1].set()

    # Then
    assert is_answered
    assert acquired(fetch.result()) == [(0, 2, 1)]


async def test_what_several_leaders_bring_is_acquired_in_one_fetch() -> None:
    # Given
    world, alice, _ = await a_world_with_two_leaders()
    for _, partition in BOTH:
        world.produce(2 + partition, partition=partition)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(max_wait_ms=500))

    # Then
    assert [acquired(fetch.result(), partition=partition) for _, partition in BOTH] == [
        [(0, 1, 1)],
        [(0, 2, 1)],
    ]


async def test_a_fetch_whose_room_another_took_while_its_other_leader_hung_waits_in_line_for_the_next() -> (
    None
):
    # Given
    world, alice, carol = await a_world_with_two_leaders(SMALL_WINDOW)
    dave = world.member("dave")
    await dave.open((ORDERS, 0))
    for _ in range(10):
        world.produce(5)
    world.reader.held[ORDERS, 1] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        hung = tasks.create_task(alice.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        assert acquired(await carol.fetch(max_records=10)) == [(0, 9, 1)]
        behind = tasks.create_task(dave.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(100)
        await carol.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
        await until_all_wait(200)
        are_answered = (hung.done(), behind.done())
        world.clock.advance(30_000)

    # Then
    assert are_answered == (True, True)
    assert sorted(acquired(fetch.result()) for fetch in (hung, behind)) == [[(10, 14, 1)], [(15, 19, 1)]]


async def test_room_that_a_fetch_leaves_which_waits_for_another_leader_is_handed_on() -> None:
    # Given
    world, bob, alice, carol = await a_full_window()

    # When
    async with asyncio.TaskGroup() as tasks:
        hung = tasks.create_task(bob.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        behind = tasks.create_task(carol.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        world.reader.held[ORDERS, 1] = asyncio.Event()
        world.produce(1, partition=1)
        await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
        await until_all_wait(200)
        are_answered = (hung.done(), behind.done())
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(100)
        world.clock.advance(30_000)

    # Then
    assert are_answered == (False, True)
    assert acquired(behind.result()) == [(10, 14, 1)]


async def test_who_reads_something_else_when_room_is_handed_on_looks_at_what_is_left_before_it_sleeps() -> (
    None
):
    # Given
    world, bob, alice, carol = await a_full_window()
    world.reader.held[ORDERS, 1] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        asleep = tasks.create_task(carol.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        awake = tasks.create_task(bob.fetch(max_records=5, max_wait_ms=30_000))
        await until_all_wait()
        await alice.acknowledge({(ORDERS, 0): [(0, 9, [1])]})
        await until_all_wait(100)
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(100)
        are_answered = (asleep.done(), awake.done())
        world.clock.advance(30_000)

    # Then
    assert are_answered == (True, True)
    assert [acquired(fetch.result()) for fetch in (asleep, awake)] == [[(10, 14, 1)], [(15, 19, 1)]]


async def test_who_asked_for_the_turn_hears_of_records_that_come_while_another_leader_hangs() -> None:
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    for _, partition in BOTH:
        world.reader.held[ORDERS, partition] = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        hung = tasks.create_task(alice.fetch(max_wait_ms=30_000))
        await until_all_wait()
        fetch = tasks.create_task(bob.fetch(max_wait_ms=30_000))
        await until_all_wait()
        world.reader.held[ORDERS, 0].set()
        await until_all_wait(50)
        world.produce(3)
        await until_all_wait(50)
        are_answered = (hung.done(), fetch.done())
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(50)
        world.clock.advance(30_000)

    # Then
    assert are_answered == (False, True)
    assert acquired(fetch.result()) == [(0, 2, 1)]


async def test_a_fetch_that_waits_for_more_bytes_leaves_what_it_found_to_others_while_a_leader_hangs() -> (
    None
):
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    for _, partition in BOTH:
        world.produce(1, partition=partition)

    # When
    async with asyncio.TaskGroup() as tasks:
        hung = tasks.create_task(alice.fetch(max_wait_ms=30_000, min_bytes=100_000))
        await until_all_wait()
        world.reader.held[ORDERS, 1] = asyncio.Event()
        world.produce(1, partition=1)
        await until_all_wait()
        fetch = tasks.create_task(bob.fetch(max_wait_ms=30_000))
        await until_all_wait(50)
        are_answered = (hung.done(), fetch.done())
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(50)
        world.clock.advance(30_000)

    # Then
    assert are_answered == (False, True)
    assert acquired(fetch.result()) == [(0, 0, 1)]


async def test_who_asked_for_the_turn_is_called_before_a_leader_that_moved_is_sought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    world.reader.fail(ORDERS, 1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for each in BOTH:
        world.reader.held[each] = asyncio.Event()
    is_found = asyncio.Event()

    async def confirm(*_: object, **__: object) -> None:
        await is_found.wait()

    monkeypatch.setattr(world.metadata, "confirm", confirm)

    # When
    async with asyncio.TaskGroup() as tasks:
        failed = tasks.create_task(alice.fetch(max_wait_ms=30_000))
        await until_all_wait()
        fetch = tasks.create_task(bob.fetch(max_wait_ms=30_000))
        await until_all_wait()
        for each in BOTH:
            world.reader.held[each].set()
        await until_all_wait()
        world.produce(3)
        await until_all_wait()
        are_answered = (failed.done(), fetch.done())
        is_found.set()
        await until_all_wait()
        world.clock.advance(30_000)

    # Then
    assert are_answered == (False, True)
    assert acquired(fetch.result()) == [(0, 2, 1)]


async def test_who_asked_for_a_turn_once_is_called_when_the_one_that_was_asked_hangs_in_a_later_read() -> (
    None
):
    # Given
    world, alice, bob = await a_world_with_two_leaders()
    world.reader.before_read = until_all_wait

    # When
    async with asyncio.TaskGroup() as tasks:
        hung = tasks.create_task(alice.fetch(max_wait_ms=30_000))
        await until_all_wait(2)
        fetch = tasks.create_task(bob.fetch(max_wait_ms=30_000))
        await until_all_wait(100)
        world.reader.held[ORDERS, 1] = asyncio.Event()
        world.produce(1, partition=1)
        await until_all_wait(100)
        world.produce(3)
        await until_all_wait(100)
        are_answered = (hung.done(), fetch.done())
        world.reader.held[ORDERS, 1].set()
        await until_all_wait(100)
        world.clock.advance(30_000)

    # Then
    assert are_answered == (False, True)
    assert acquired(fetch.result()) == [(0, 2, 1)]
