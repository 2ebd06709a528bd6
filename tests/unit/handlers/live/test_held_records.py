"""What sessions held that are over comes back share-partition by share-partition, whatever happens in between."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.handlers.live import pauses
from tests.worlds.share_group_world import (
    ORDERS,
    Member,
    ShareGroupWorld,
    acknowledge_errors,
    acquired,
    world_with_orders,
)
from tests.worlds.waiting import turns_during

PARTITIONS = range(20)
ALL = tuple((ORDERS, number) for number in PARTITIONS)
FIRST, LAST = 0, 19


@pytest.fixture(autouse=True)
def every_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """One share-partition a turn."""
    monkeypatch.setattr(pauses, "MOST_AT_ONCE", 1)


async def a_member_that_holds_records() -> tuple[ShareGroupWorld, Member]:
    """Two records of each partition."""
    world = await world_with_orders(partition_count=len(PARTITIONS))
    for number in PARTITIONS:
        world.produce(2, partition=number)
    alice = world.member("alice")
    await alice.open(*ALL)
    while world.groups.in_flight_count < 2 * len(PARTITIONS):
        await alice.fetch()
    return world, alice


R = TypeVar("R")


async def begin(work: Coroutine[object, object, R]) -> asyncio.Task[R]:
    """Return `work` under way, at its first pause: the first partition is released, and no other."""
    task = asyncio.get_running_loop().create_task(work)
    await asyncio.sleep(0)
    return task


def holders(world: ShareGroupWorld) -> list[str | None]:
    """Return who holds the first record of each partition; a dot where that is not live."""
    found = [world.groups.directory.find(world.key(partition=number)) for number in PARTITIONS]
    return ["." if live is None else live.view().ranges[0].member_id for live in found]


async def test_the_first_of_it_is_available_before_others_have_a_turn_and_the_rest_turn_by_turn() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    await world.member("bob").open(*ALL)
    seen: list[int] = []

    # When
    task = await begin(alice.disconnect())
    while not task.done():
        seen.append(holders(world).count("alice"))
        await asyncio.sleep(0)

    # Then
    assert seen[: len(PARTITIONS)] == [*reversed(PARTITIONS)]


async def test_a_session_that_is_opened_meanwhile_keeps_what_it_acquires() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    for number in PARTITIONS:
        world.produce(1, partition=number)
    anew = world.member("alice")
    ending = await begin(alice.disconnect())

    # When
    answer = await anew.fetch(add=((ORDERS, LAST),))
    was_over = ending.done()
    await ending

    # Then
    assert (was_over, acquired(answer, partition=LAST)) == (False, [(2, 2, 1)])
    accepted = await anew.acknowledge({(ORDERS, LAST): [(2, 2, [1])]})
    assert acknowledge_errors(accepted) == {(ORDERS, LAST): ErrorCode.NONE}
    assert acquired(await anew.fetch(), partition=LAST) == [(0, 1, 2)]


async def test_what_a_session_renews_that_was_opened_meanwhile_stays_its_own() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    for number in PARTITIONS:
        world.produce(1, partition=number)
    anew = world.member("alice")
    ending = await begin(alice.disconnect())
    await anew.fetch(add=((ORDERS, LAST),))

    # When
    renewed = await anew.acknowledge({(ORDERS, LAST): [(2, 2, [4])]}, is_renew_ack=True)
    was_over = ending.done()
    await ending

    # Then
    assert (was_over, acknowledge_errors(renewed)) == (False, {(ORDERS, LAST): ErrorCode.NONE})
    accepted = await anew.acknowledge({(ORDERS, LAST): [(2, 2, [1])]})
    assert acknowledge_errors(accepted) == {(ORDERS, LAST): ErrorCode.NONE}


async def test_a_session_leaves_what_it_acquired_to_the_one_that_replaces_it() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    await alice.open(*ALL)

    # When
    await alice.disconnect()

    # Then
    bob = world.member("bob")
    assert acquired(await bob.fetch(add=ALL), partition=FIRST) == [(0, 1, 2)]


async def test_attempts_count_though_the_last_session_of_the_group_ends_meanwhile() -> None:
    """The group is unloaded when nobody fetches for it, but not before all is released."""
    # Given
    world, alice = await a_member_that_holds_records()
    bob = world.member("bob")
    await bob.open((ORDERS, FIRST))
    ending = await begin(alice.disconnect())

    # When
    await bob.disconnect()
    was_over = ending.done()
    await ending

    # Then
    assert (was_over, world.groups.share_partition_count) == (False, 0)
    carol = world.member("carol")
    await carol.open(*ALL)
    taken = [
        runs
        for _ in PARTITIONS
        for answer in [await carol.fetch()]
        for number in PARTITIONS
        if (runs := acquired(answer, partition=number))
    ]
    assert taken == [[(0, 1, 2)]] * len(PARTITIONS)


async def test_what_is_discarded_meanwhile_is_passed_over() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    await world.member("bob").open(*ALL)
    ending = await begin(alice.disconnect())

    # When
    world.discard([world.key(partition=LAST)])
    await ending

    # Then
    assert holders(world) == [None] * LAST + ["."]


async def test_what_is_left_when_it_is_cut_short_is_discarded() -> None:
    """Nobody would take it back before its locks end."""
    # Given
    world, alice = await a_member_that_holds_records()
    await world.member("bob").open(*ALL)
    ending = await begin(alice.disconnect())

    # When
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending

    # Then
    assert "alice" not in holders(world)


async def test_the_process_does_not_end_before_all_is_released() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    await world.member("bob").open(*ALL)
    ending = await begin(alice.disconnect())

    # When
    await world.groups.all_released()

    # Then
    assert holders(world) == [None] * len(PARTITIONS)
    await ending


async def test_a_session_is_closed_with_an_answer_when_all_that_it_held_is_released_and_durable() -> None:
    # Given
    world, alice = await a_member_that_holds_records()
    await world.member("bob").open(*ALL)
    world.state_log.hold_writes = asyncio.Event()
    closing = await begin(alice.acknowledge({(ORDERS, FIRST): [(0, 0, [1])]}, epoch=-1))
    await world.groups.all_released()
    was_answered = closing.done()

    # When
    world.state_log.hold_writes.set()
    answer = await closing

    # Then
    assert not was_answered
    assert answer.error_code == ErrorCode.NONE
    states = [world.state_log.state(world.key(partition=number)) for number in PARTITIONS]
    assert [None if state is None else state.start_offset for state in states] == [1] + [0] * LAST


async def two_sessions_about_few_share_partitions() -> tuple[ShareGroupWorld, Member]:
    """All are live, because a member that has left had them."""
    world = await world_with_orders(partition_count=len(PARTITIONS))
    alice, bob = world.member("alice"), world.member("bob")
    await bob.open((ORDERS, FIRST))
    await alice.open(*ALL)
    while world.groups.share_partition_count < len(PARTITIONS):
        await alice.fetch()
    await alice.disconnect()
    return world, bob


async def test_others_have_turns_while_very_many_are_unloaded_with_the_last_session_of_a_group() -> None:
    # Given
    world, bob = await two_sessions_about_few_share_partitions()

    # When
    turn_count = await turns_during(bob.disconnect())

    # Then
    assert turn_count > len(PARTITIONS)
    assert world.groups.share_partition_count == 0


async def test_what_is_not_unloaded_yet_stays_when_somebody_fetches_for_the_group_again() -> None:
    # Given
    world, bob = await two_sessions_about_few_share_partitions()

    # When
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(bob.disconnect())
        while world.groups.share_partition_count == len(PARTITIONS):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
        await world.member("carol").open((ORDERS, LAST))

    # Then
    assert 0 < world.groups.share_partition_count < len(PARTITIONS)
