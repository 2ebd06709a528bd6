"""Records that a fetch acquired, and that are not its member's any more when it can be answered."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import CoordinatorLoadInProgress
from kproxy.share.operators.settlement import OperatorAction
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    partitions_of,
    world_with_orders,
)
from tests.worlds.waiting import until_all_wait

FIRST, SECOND = (ORDERS, 0), (ORDERS, 1)
ACCEPT = 1

Loss = Callable[[ShareGroupWorld], Coroutine[Any, Any, None]]


async def a_member_with_records_of_the_second_partition(world: ShareGroupWorld) -> Member:
    """Return alice, who holds 5 records of one partition, and can get 3 of the other."""
    alice = world.member("alice")
    await alice.open(FIRST, SECOND)
    world.produce(5, partition=1)
    await alice.fetch()
    world.produce(3, partition=0)
    return alice


async def forget_in_doubt(world: ShareGroupWorld) -> None:
    """Do what a slot does when it cannot tell what is in its log: share sessions stay."""
    world.discard([world.key(partition=0)])


async def let_locks_end(world: ShareGroupWorld) -> None:
    world.clock.advance(30_000)
    await world.expire()


async def let_locks_end_unheard(world: ShareGroupWorld) -> None:
    """Let the time pass, but not the timer ring."""
    world.clock.advance(30_000)


async def load_anew(world: ShareGroupWorld) -> None:
    world.group_log.unreadiness = CoordinatorLoadInProgress("it is being claimed")


@pytest.mark.parametrize("lose", [forget_in_doubt, let_locks_end, let_locks_end_unheard, load_anew])
async def test_records_that_others_may_get_meanwhile_are_not_delivered_but_acknowledgements_count(
    lose: Loss,
) -> None:
    # Given
    world = await world_with_orders(partition_count=2, passes_time=False)
    alice = await a_member_with_records_of_the_second_partition(world)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={SECOND: [(0, 4, [ACCEPT])]}))
        await until_all_wait()
        loss = tasks.create_task(lose(world))
        await until_all_wait()
        world.state_log.hold_writes.set()
        await loss

    # Then
    told = partitions_of(fetch.result())
    assert (told[FIRST].error_code, bytes(told[FIRST].records or b""), told[FIRST].acquired_records) == (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        b"",
        [],
    )
    assert told[SECOND].acknowledge_error_code == ErrorCode.NONE


async def test_what_another_member_accepted_meanwhile_is_not_delivered() -> None:
    # Given
    world = await world_with_orders(partition_count=2, passes_time=False)
    alice, bob = await a_member_with_records_of_the_second_partition(world), world.member("bob")
    await bob.open(FIRST)
    may_settle = asyncio.Event()
    world.state_log.hold_writes = may_settle

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={SECOND: [(0, 4, [ACCEPT])]}))
        await until_all_wait()
        await forget_in_doubt(world)
        world.state_log.hold_writes = None
        of_bob = await bob.fetch()
        accepted = await bob.acknowledge({FIRST: [(0, 2, [ACCEPT])]})
        may_settle.set()

    # Then
    assert acquired(of_bob) == [(0, 2, 1)]
    assert acknowledge_errors(accepted) == {FIRST: ErrorCode.NONE}
    assert acquired(fetch.result()) == []


@pytest.mark.parametrize(
    ("action", "of_bob"),
    [(OperatorAction.RELEASE, [(1, 2, 2)]), (OperatorAction.ACCEPT, []), (OperatorAction.ARCHIVE, [])],
)
async def test_what_an_operator_settled_meanwhile_is_not_delivered_and_the_rest_is(
    action: OperatorAction, of_bob: list[tuple[int, int, int]]
) -> None:
    # Given
    world = await world_with_orders(partition_count=2, passes_time=False)
    alice, bob = await a_member_with_records_of_the_second_partition(world), world.member("bob")
    await bob.open(FIRST)
    may_settle = asyncio.Event()
    world.state_log.hold_writes = may_settle

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={SECOND: [(0, 4, [ACCEPT])]}))
        await until_all_wait()
        world.state_log.hold_writes = None
        await world.groups.operators.settle(world.key(partition=0), action, [(1, 2)], reason="poison")
        given_to_bob = acquired(await bob.fetch(max_wait_ms=0))
        may_settle.set()

    # Then
    assert given_to_bob == of_bob
    assert acquired(fetch.result()) == [(0, 0, 1)]


async def test_records_below_a_start_offset_that_moved_with_the_log_are_delivered() -> None:
    # Given
    world = await world_with_orders(partition_count=2, passes_time=False)
    alice = await a_member_with_records_of_the_second_partition(world)
    world.state_log.hold_writes = asyncio.Event()

    # When
    async with asyncio.TaskGroup() as tasks:
        fetch = tasks.create_task(alice.fetch(acks={SECOND: [(0, 4, [ACCEPT])]}))
        await until_all_wait()
        share_partition = world.groups.directory.find(world.key(partition=0))
        assert share_partition is not None
        share_partition.move_start(2)
        world.state_log.hold_writes.set()

    # Then
    assert [
        (run.first_offset, run.last_offset) for run in partitions_of(fetch.result())[FIRST].acquired_records
    ] == [(0, 2)]
