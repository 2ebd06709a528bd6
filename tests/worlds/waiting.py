"""Waiting in tests for what tells nobody when it changes."""

import asyncio
from collections.abc import Callable


async def until(is_so: Callable[[], bool]) -> None:
    """Return when `is_so()`, asked again and again; at most ten seconds."""
    async with asyncio.timeout(10):
        while not is_so():  # noqa: ASYNC110 - what is asked about has no event
            await asyncio.sleep(0.001)


async def until_all_wait(turns: int = 20) -> None:
    """Let every other task of the loop run until none can go on by itself."""
    for _ in range(turns):
        await asyncio.sleep(0)
