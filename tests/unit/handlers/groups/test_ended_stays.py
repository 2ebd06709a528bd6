"""What is live of the groups of a lost slot is over at once, and let go of in portions."""

import asyncio

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import NotCoordinator, SharePartitionElsewhere, SharePartitionNotLoaded
from kproxy.handlers.live import pauses
from kproxy.handlers.live.pauses import MOST_AT_FIRST
from kproxy.share.identifiers import GroupId
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
)
from tests.worlds.waiting import until_all_wait

G = GroupId("g")
WIDE = 3 * MOST_AT_FIRST
LAST = WIDE - 1


async def a_world_with_a_wide_group() -> tuple[ShareGroupWorld, Member]:
    """Alice holds a record of each partition."""
    world = ShareGroupWorld(passes_time=False)
    world.metadata.create_topic("orders", ORDERS, partition_count=WIDE)
    for partition in range(WIDE):
        await world.initialize(partition=partition)
        world.produce(1, partition=partition)
    alice = world.member()
    await alice.open(*((ORDERS, partition) for partition in range(WIDE)), max_wait_ms=0, max_records=WIDE)
    while world.groups.in_flight_count < WIDE:
        await alice.fetch(max_wait_ms=0, max_records=WIDE)
    return world, alice


def lose(world: ShareGroupWorld) -> None:
    """Do what the shell does when the slot of the group is lost."""
    world.group_log.unreadiness = NotCoordinator("another process serves it")
    world.groups.discard_live([G])


def gain(world: ShareGroupWorld) -> None:
    """Do what the shell does when the slot of the group was loaded."""
    world.group_log.unreadiness = None
    world.groups.discard_live([G])


async def test_what_is_live_of_a_wide_group_is_found_no_more_at_once_and_discarded_in_several_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, _ = await a_world_with_a_wide_group()
    directory = world.groups.directory
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", MOST_AT_FIRST)

    # When
    lose(world)

    # Then
    assert WIDE - MOST_AT_FIRST <= len(directory) < WIDE
    assert not any(map(directory.find, directory.keys()))
    await until_all_wait()
    assert len(directory) == 0


async def test_many_groups_that_end_in_one_turn_have_the_first_portion_in_common() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    group_ids = [GroupId(f"g{number}") for number in range(2 * MOST_AT_FIRST)]
    for group_id in group_ids:
        await world.initialize(group_id)
        await world.member(group_id=group_id).fetch(add=[(ORDERS, 0)], max_wait_ms=0)
    await until_all_wait()
    live_count = len(world.groups.directory)

    # When
    for group_id in group_ids:
        world.groups.discard_live([group_id])

    # Then
    assert live_count == len(group_ids)
    assert len(world.groups.directory) >= live_count - MOST_AT_FIRST
    await until_all_wait()
    assert len(world.groups.directory) == 0


async def test_every_fetch_that_waits_for_a_wide_group_that_is_lost_is_answered_for_all_its_partitions() -> (
    None
):
    # Given
    world, alice = await a_world_with_a_wide_group()
    bob = world.member("bob")
    await bob.open(*((ORDERS, partition) for partition in range(WIDE)), max_wait_ms=0)

    # When
    async with asyncio.TaskGroup() as tasks:
        fetches = [tasks.create_task(each.fetch(max_wait_ms=60_000)) for each in (alice, bob)]
        await until_all_wait(50)
        were_waiting = not any(fetch.done() for fetch in fetches)
        lose(world)
        await until_all_wait(50)
        world.clock.advance(60_000)

    # Then
    assert were_waiting
    for fetch in fetches:
        assert len(partitions_of(fetch.result())) == WIDE
        codes = {each.error_code for each in partitions_of(fetch.result()).values()}
        assert codes == {SharePartitionElsewhere.error_code}


async def test_what_is_acknowledged_after_a_loss_is_refused_and_written_nowhere_though_the_group_is_back() -> (
    None
):
    # Given
    world, alice = await a_world_with_a_wide_group()
    delta_count = len(world.state_log.deltas)
    lose(world)
    gain(world)

    # When
    answer = await alice.acknowledge({(ORDERS, LAST): [(0, 0, [1])]})

    # Then
    assert acknowledge_errors(answer) == {(ORDERS, LAST): SharePartitionNotLoaded.error_code}
    assert len(world.state_log.deltas) == delta_count


async def test_what_is_loaded_anew_of_a_group_that_is_back_stays_while_the_rest_is_discarded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    world, _ = await a_world_with_a_wide_group()
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)
    before = world.groups.directory.find(world.key(partition=LAST))
    lose(world)
    gain(world)

    # When
    bob = world.member("bob")
    answer = await bob.open((ORDERS, LAST), max_wait_ms=60_000, max_records=10)
    anew = world.groups.directory.find(world.key(partition=LAST))
    was_letting_go = len(world.groups.directory) > 1
    await until_all_wait(5 * WIDE)
    accepted = await bob.acknowledge({(ORDERS, LAST): [(0, 0, [1])]})

    # Then
    assert was_letting_go
    assert before is not None
    assert before.is_fenced
    assert acquired(answer, partition=LAST) == [(0, 0, 1)]
    assert world.groups.directory.keys() == (world.key(partition=LAST),)
    assert world.groups.directory.find(world.key(partition=LAST)) is anew
    assert acknowledge_errors(accepted) == {(ORDERS, LAST): ErrorCode.NONE}


async def test_a_load_that_began_before_a_loss_does_not_become_live_when_the_group_is_back() -> None:
    # Given
    world = ShareGroupWorld(passes_time=False)
    key = await world.initialize()
    world.state_log.hold_loads = asyncio.Event()
    fetch = asyncio.get_running_loop().create_task(world.member().fetch(add=[(ORDERS, 0)], max_wait_ms=500))
    await until_all_wait()
    load = world.groups.directory.begin_load(key)

    # When
    lose(world)
    gain(world)
    world.state_log.hold_loads.set()
    await until_all_wait(50)

    # Then
    assert load.failure is not None
    assert "was changed while it was loaded" in str(load.failure)
    assert world.state_log.loads.count(key) == 2
    world.clock.advance(500)
    await fetch


async def test_locks_of_a_group_that_is_lost_may_end_while_it_is_let_go_of() -> None:
    # Given
    world, _ = await a_world_with_a_wide_group()
    delta_count = len(world.state_log.deltas)
    lose(world)
    world.clock.advance(60_000)

    # When
    await world.groups.expire(world.clock.now_ms())

    # Then
    assert len(world.state_log.deltas) == delta_count


async def test_a_session_that_ends_while_its_lost_group_is_let_go_of_writes_nothing() -> None:
    # Given
    world, alice = await a_world_with_a_wide_group()
    delta_count = len(world.state_log.deltas)
    lose(world)

    # When
    await alice.disconnect()
    await until_all_wait(50)

    # Then
    assert len(world.state_log.deltas) == delta_count
    assert not world.groups.directory.known_keys()


async def test_a_group_that_is_lost_while_another_is_let_go_of_is_let_go_of_too() -> None:
    # Given
    world, _ = await a_world_with_a_wide_group()
    await world.initialize("h")
    await world.member(group_id="h").fetch(add=[(ORDERS, 0)], max_wait_ms=0)
    await until_all_wait()
    live_count = len(world.groups.directory)
    world.groups.discard_live([G])

    # When
    world.groups.discard_live([GroupId("h")])
    await until_all_wait()

    # Then
    assert live_count == WIDE + 1
    assert world.groups.directory.keys() == ()
