"""Waiting in tests for what tells nobody when it changes."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(is_so: Callable[[], bool]) -> None:
    """Return when `is_so()`, asked again and again; at most ten seconds."""
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - what is asked about has no event
            await asyncio.sleep(0.001)


async def until_all_wait(turns: int = 20) -> None:
    """Let every other task of the loop run until none can go on by itself."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def turns_during(work: Awaitable[object]) -> int:
    """Return how many turns others have while `work` is done; what it returns is dropped."""
    turn_count = 0

    async def count_turns() -> None:
        nonlocal turn_count
        while True:  # until it is cancelled
            turn_count += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        await work
        counting.cancel()
    return turn_count
