"""Several things at the same time: all of them are done when it is over, and not too many are under way."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.net.side_by_side import MOST_AT_ONCE, SideBySide
from tests.unit.net.backing import run


class Steps:
    """Steps that wait until they may end."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.may_end = asyncio.Event()

    async def step(self) -> None:
        """Wait."""
        self.begun += 1
        await self.may_end.wait()
        self.ended += 1


async def turns(count: int) -> None:
    """Let the loop have `count` turns."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_steps_do_not_wait_for_each_other() -> None:
    async def scenario() -> None:
        # Given
        steps = Steps()

        # When
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(SideBySide().run([steps.step] * 3))
            await turns(5)
            begun = steps.begun
            steps.may_end.set()

        # Then
        assert (begun, steps.ended) == (3, 3)

    run(scenario)


def test_no_more_than_so_many_are_under_way() -> None:
    async def scenario() -> None:
        # Given
        steps = Steps()

        # When
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(SideBySide().run([steps.step] * (MOST_AT_ONCE + 5)))
            await turns(5)
            begun = steps.begun
            steps.may_end.set()

        # Then
        assert (begun, steps.ended) == (MOST_AT_ONCE, MOST_AT_ONCE + 5)

    run(scenario)


def test_who_is_cancelled_takes_the_steps_along() -> None:
    async def scenario() -> None:
        # Given
        steps = Steps()
        ended: list[str] = []

        async def step() -> None:
            try:
                await steps.step()
            finally:
                ended.append("torn away")

        # When
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await SideBySide().run([step] * 2)

        # Then
        assert ended == ["torn away"] * 2

    run(scenario)


def test_nothing_to_do_is_done() -> None:
    async def scenario() -> None:
        no_steps: list[Callable[[], Awaitable[None]]] = []

        await SideBySide().run(no_steps)

    run(scenario)
