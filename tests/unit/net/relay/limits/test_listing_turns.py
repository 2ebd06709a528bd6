"""Turns of those who make long lists: few at a time, each client after the others, and none for ever."""

import asyncio
from collections.abc import Hashable

import pytest

from kproxy.net.relay.limits.listing_turns import ROOM_BYTES, ListingTurns
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from tests.worlds.waiting import until

MIB = 1024 * 1024


class Lists:
    """Lists that are made until they are ended, by the numbers of their connections."""

    def __init__(self, turns: ListingTurns) -> None:
        self.turns = turns
        self.begun: list[int] = []
        self._ends: dict[int, asyncio.Event] = {}
        self._made: dict[int, asyncio.Task[None]] = {}

    async def ask(self, connection_id: int, client: Hashable = "client") -> None:
        """Return when the list has its turn, or waits for it."""
        self._ends[connection_id] = asyncio.Event()
        self._made[connection_id] = asyncio.get_running_loop().create_task(self._make(connection_id, client))
        for _ in range(3):
            await asyncio.sleep(0)

    async def end(self, connection_id: int) -> None:
        """Return when the list is made, and the next ones have begun."""
        self._ends[connection_id].set()
        await self._made[connection_id]
        for _ in range(3):
            await asyncio.sleep(0)

    async def break_off(self, connection_id: int) -> None:
        """Return when the list is cancelled, wherever it is."""
        self._made[connection_id].cancel()
        for _ in range(3):
            await asyncio.sleep(0)

    async def _make(self, connection_id: int, client: Hashable) -> None:
        async with self.turns.turn(connection_id, client):
            self.begun.append(connection_id)
            await self._ends[connection_id].wait()


@pytest.fixture
def budget() -> BufferBudget:
    return BufferBudget(8 * MIB)


@pytest.fixture
def lists(budget: BufferBudget) -> Lists:
    return Lists(ListingTurns(budget, most_at_once=2, patience_seconds=600))


async def test_no_more_lists_are_made_at_a_time_than_may_be(lists: Lists) -> None:
    for connection_id in range(1, 6):
        await lists.ask(connection_id)

    assert lists.begun == [1, 2]


async def test_a_client_with_many_connections_keeps_another_one_out_for_one_list(lists: Lists) -> None:
    # Given
    for connection_id in range(1, 100):
        await lists.ask(connection_id, "client with many")
    await lists.ask(100, "another client")

    # When
    await lists.end(1)
    await lists.end(2)

    # Then
    assert lists.begun == [1, 2, 3, 100]


async def test_whoever_leaves_while_it_waits_waits_no_longer_and_takes_nobodys_turn(lists: Lists) -> None:
    # Given
    for connection_id in (1, 2, 3, 4):
        await lists.ask(connection_id)

    # When
    lists.turns.forsake(3)
    await lists.end(3)

    # Then
    await lists.end(1)
    assert lists.begun == [1, 2, 3, 4]


async def test_one_that_is_broken_off_leaves_its_turn_to_the_next(lists: Lists, budget: BufferBudget) -> None:
    # Given
    for connection_id in (1, 2, 3, 4):
        await lists.ask(connection_id)

    # When
    await lists.break_off(3)
    await lists.break_off(1)

    # Then
    assert lists.begun == [1, 2, 4]
    assert budget.held_bytes == 2 * ROOM_BYTES


async def test_one_that_takes_long_keeps_the_next_from_its_turn_for_no_longer_than_they_are_patient(
    budget: BufferBudget,
) -> None:
    # Given
    lists = Lists(ListingTurns(budget, most_at_once=1, patience_seconds=0.001))
    await lists.ask(1)
    await lists.ask(2)

    # When
    await until(lambda: lists.begun == [1, 2])

    # Then
    await lists.end(1)
    await lists.ask(3)
    await until(lambda: lists.begun == [1, 2, 3])


async def test_where_the_budget_is_used_up_lists_are_made_and_keep_the_place_beyond_it_from_nobody(
    lists: Lists, budget: BufferBudget
) -> None:
    # Given
    budget.note_waiting("clients that do not read", 8 * MIB)

    # When
    for connection_id in (1, 2, 3):
        await lists.ask(connection_id)

    # Then
    assert lists.begun == [1, 2]
    assert budget.hold("a large request", 0, MIB, lambda: None)


async def test_nothing_is_held_when_all_are_made(lists: Lists, budget: BufferBudget) -> None:
    for connection_id in (1, 2, 3):
        await lists.ask(connection_id)

    for connection_id in (1, 2, 3):
        await lists.end(connection_id)

    assert budget.held_bytes == 0
    assert not budget.is_anybody_waiting
