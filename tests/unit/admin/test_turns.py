import asyncio
from collections.abc import AsyncIterator
from itertools import count, pairwise

from kproxy.admin.json_chunks import SLICE_S
from kproxy.admin.turns import in_order, in_turns
from tests.worlds.waiting import turns_during


def test_everything_comes_in_order_and_others_have_turns_in_between() -> None:
    # Given
    events: list[object] = []
    turns = 0

    async def another() -> None:
        nonlocal turns
        while not events:
            turns += 1
            await asyncio.sleep(0)

    async def go() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(another())
            events.extend([number async for number in in_turns(range(5), at_once=2)])

    # When
    asyncio.run(go())

    # Then
    assert events == [0, 1, 2, 3, 4]
    assert turns == 2


async def test_what_takes_long_is_interrupted_before_there_are_many() -> None:
    # Given
    seconds = count(0, SLICE_S)

    # When
    turn_count = await turns_during(all_of(in_turns(range(10), now_s=lambda: next(seconds))))

    # Then
    assert turn_count >= 10


async def test_one_of_all_who_go_through_very_much_goes_on_in_a_turn() -> None:
    # Given
    seen: list[int] = []
    seen_by_turn: list[int] = []

    async def go() -> None:
        async for number in in_turns(range(3), at_once=1):
            seen.append(number)  # noqa: PERF401 - one by one

    async def look_in_each_turn() -> None:
        while len(seen) < 15:
            seen_by_turn.append(len(seen))
            await asyncio.sleep(0)

    # When
    async with asyncio.TaskGroup() as tasks:
        for _ in range(5):
            tasks.create_task(go())
        tasks.create_task(look_in_each_turn())

    # Then
    assert all(later - earlier <= 1 for earlier, later in pairwise(seen_by_turn))


async def test_very_much_is_brought_in_order_while_others_have_turns() -> None:
    # Given
    numbers = [number * 7_919 % 10_007 for number in range(10_000)]
    found: list[int] = []

    async def sort() -> None:
        found.extend(await in_order(numbers, lambda number: -number, at_once=100))

    # When
    turn_count = await turns_during(sort())

    # Then
    assert found == sorted(numbers, reverse=True)
    assert turn_count >= 100


async def test_of_what_is_equal_the_first_stays_the_first_where_the_largest_come_first() -> None:
    # Given
    pairs = [(place, place * 7_919 % 10) for place in range(1_000)]

    # When
    found = await in_order(pairs, lambda pair: pair[1], reverse=True, at_once=30)

    # Then
    assert list(found) == sorted(pairs, key=lambda pair: pair[1], reverse=True)


async def test_what_takes_long_to_compare_is_brought_in_order_a_few_at_a_time() -> None:
    # Given
    seconds = count(0, SLICE_S)

    async def sort() -> None:
        assert list(await in_order(range(1_000), lambda number: -number, now_s=lambda: next(seconds)))

    # When
    turn_count = await turns_during(sort())

    # Then
    assert turn_count >= 100


async def all_of(items: AsyncIterator[int]) -> list[int]:
    return [each async for each in items]
