"""`TasksSideBySide`: work that does not wait for each other, for those who know no tasks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

Result = TypeVar("Result")

MOST_AT_ONCE: Final = 32
"""How much of one caller's work is under way at the same time."""


class TasksSideBySide:
    """Implements `SideBySide` with a task for each piece of work; they end with their caller."""

    async def run(self, works: Sequence[Callable[[], Awaitable[Result]]]) -> Sequence[Result]:
        """Do all of `works`, `MOST_AT_ONCE` of them at a time; return what they return, in their order."""
        turnstile = asyncio.Semaphore(MOST_AT_ONCE)

        async def in_turn(work: Callable[[], Awaitable[Result]]) -> Result:
            async with turnstile:
                return await work()

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(in_turn(work)) for work in works]
        return [task.result() for task in tasks]
