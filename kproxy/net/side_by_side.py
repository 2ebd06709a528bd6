"""`SideBySide`: several things at the same time, for those who know no tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

MOST_AT_ONCE: Final = 64
"""Steps of one call that are under way at the same time; more only hold memory while they wait."""


class SideBySide:
    """Implements `Together` with a task for each step."""

    async def run(self, steps: Iterable[Callable[[], Awaitable[None]]]) -> None:
        """Run `steps`, which raise nothing, at the same time, `MOST_AT_ONCE` of them; return when all are done.

        Whoever cancels this cancels them.
        """
        turnstile = asyncio.Semaphore(MOST_AT_ONCE)

        async def in_turn(step: Callable[[], Awaitable[None]]) -> None:
            async with turnstile:
                await step()

        async with asyncio.TaskGroup() as tasks:
            for step in steps:
                tasks.create_task(in_turn(step))
