"""`BackgroundTasks`: work that goes on although nobody waits for it, for those who know no tasks."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from kproxy.net.tasks import TaskKeeper

MOST_AT_ONCE: Final = 1_000
"""How much of it is under way at the same time. It waits for brokers, so a few that hang must not hold up the rest."""


class BackgroundTasks:
    """Implements `Background` with a task for each piece of work; the keeper of tasks cancels it at the end."""

    def __init__(self, tasks: TaskKeeper) -> None:
        self._tasks = tasks
        self._turnstile = asyncio.Semaphore(MOST_AT_ONCE)

    def begin(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        """Begin `work`, which raises nothing, once fewer than `MOST_AT_ONCE` are under way."""
        self._tasks.spawn(self._in_turn(work), name=name)

    def begin_now(self, work: Callable[[], Awaitable[None]], *, name: str) -> None:
        """Begin `work`, which raises nothing, however much is under way; it does not count among that."""
        self._tasks.spawn(_awaited(work), name=name)

    async def _in_turn(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._turnstile:
            await work()


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()
