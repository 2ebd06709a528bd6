"""Very many who wait to go on with long work, one in each turn of the loop."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, Final

import pytest

from kproxy.handlers.live.pauses import let_others_go_on

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
