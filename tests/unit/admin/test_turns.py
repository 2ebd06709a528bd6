import asyncio

from kproxy.admin.turns import in_turns


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
