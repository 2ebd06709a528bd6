"""Very many who wait to go on with long work, one in each turn of the loop."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final

import pytest

from kproxy.handlers.live.pauses import let_others_go_on
from tests.worlds.waiting import until_all_wait

IN_LINE: Final = 200


async def test_a_long_line_costs_a_turn_no_more_than_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    loop, steps = asyncio.get_running_loop(), 0
    soon = loop.call_soon

    def counted(
        callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        nonlocal steps
        steps += 1
        return soon(callback, *args, context=context)

    monkeypatch.setattr(loop, "call_soon", counted)

    # When
    async with asyncio.TaskGroup() as tasks:
        for _ in range(IN_LINE):
            tasks.create_task(let_others_go_on())

    # Then
    assert steps <= 10 * IN_LINE


async def test_those_who_are_cancelled_hold_nobody_up() -> None:
    # Given
    went_on: list[int] = []

    async def wait(number: int) -> None:
        await let_others_go_on()
        went_on.append(number)

    waiting = [asyncio.get_running_loop().create_task(wait(number)) for number in range(6)]
    await asyncio.sleep(0)

    # When
    for number in (0, 1, 4):
        waiting[number].cancel()
    await asyncio.wait(waiting)

    # Then
    assert went_on == [2, 3, 5]


async def stand_in_line(waiting: list[asyncio.Task[None]]) -> None:
    """Let three wait, and return before any of them has gone on."""
    waiting.extend(asyncio.get_running_loop().create_task(let_others_go_on()) for _ in range(3))
    await asyncio.sleep(0)


async def has_gone_on() -> bool:
    """Tell whether one who comes now goes on within some turns."""
    task = asyncio.get_running_loop().create_task(let_others_go_on())
    await until_all_wait()
    return task.done()


def test_those_who_waited_in_a_loop_that_is_closed_hold_nobody_of_the_next_one_up() -> None:
    # Given
    waiting: list[asyncio.Task[None]] = []
    closed = asyncio.new_event_loop()
    closed.set_exception_handler(lambda *_: None)  # they never end, and that is meant
    closed.run_until_complete(stand_in_line(waiting))
    closed.close()

    # When
    found = [asyncio.run(has_gone_on())]
    for task in waiting:
        task.get_coro().close()  # as when it is collected
    found.append(asyncio.run(has_gone_on()))

    # Then
    assert found == [True, True]


def test_loops_that_run_in_turn_in_one_thread_have_a_line_each() -> None:
    # Given
    waiting: list[asyncio.Task[None]] = []
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    first.run_until_complete(stand_in_line(waiting))

    # When
    found = second.run_until_complete(has_gone_on())
    first.run_until_complete(until_all_wait())

    # Then
    assert found
    assert all(task.done() for task in waiting)
    for loop in (first, second):
        loop.close()
