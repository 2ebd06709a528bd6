"""Waiting in tests for what tells nobody when it changes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable


async def until(is_so: Callable[[], bool], *, seconds: float = 10.0) -> None:
    """Return when `is_so()`, asked again and again; at most ten seconds, unless told otherwise."""
    async with asyncio.timeout(seconds):
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


async def most_in_a_turn(works: Iterable[Awaitable[object]], set_off: Callable[[], object]) -> int:
    """Begin all `works`, which wait; `set_off` what they wait for, and return how many at most end in one turn."""
    turn, ended_in = 0, Counter[int]()

    async def work_on(work: Awaitable[object]) -> None:
        await work
        ended_in[turn] += 1

    async def count_turns() -> None:
        nonlocal turn
        while True:  # until it is cancelled
            await asyncio.sleep(0)
            turn += 1

    async with asyncio.TaskGroup() as tasks:
        working = [tasks.create_task(work_on(work)) for work in works]
        await until_all_wait()
        counting = tasks.create_task(count_turns())
        await asyncio.sleep(0)
        set_off()
        await asyncio.gather(*working)
        counting.cancel()
    return max(ended_in.values())
