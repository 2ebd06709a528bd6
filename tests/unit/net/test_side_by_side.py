"""Work side by side: all at once, a bounded number at a time, and nothing left behind."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kproxy.net.side_by_side import MOST_AT_ONCE, TasksSideBySide
from tests.worlds.waiting import until_all_wait


class Gate:
    """Work that waits until it may end."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.under_way = 0
        self.cancelled = 0

    def work(self, number: int) -> Callable[[], Awaitable[int]]:
        async def wait() -> int:
            self.under_way += 1
            try:
                await self.opened.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return number

        return wait


async def test_results_stand_in_the_order_of_the_work_whatever_ends_first() -> None:
    gate = Gate()

    async def at_once() -> int:
        gate.opened.set()
        return 7

    assert await TasksSideBySide().run([gate.work(1), at_once, gate.work(2)]) == [1, 7, 2]


async def test_a_bounded_number_is_under_way_at_a_time() -> None:
    # Given
    gate = Gate()
    async with asyncio.TaskGroup() as tasks:
        # When
        running = tasks.create_task(TasksSideBySide().run([gate.work(n) for n in range(MOST_AT_ONCE + 5)]))
        await until_all_wait()

        # Then
        assert gate.under_way == MOST_AT_ONCE
        gate.opened.set()
    assert running.result() == list(range(MOST_AT_ONCE + 5))


async def test_a_failure_cancels_what_is_under_way() -> None:
    # Given
    gate = Gate()

    async def fail() -> int:
        await until_all_wait(3)
        raise ValueError("no")

    # When
    with pytest.raises(ExceptionGroup):
        await TasksSideBySide().run([gate.work(1), fail])

    # Then
    assert gate.cancelled == 1


async def test_a_caller_that_is_cancelled_leaves_nothing_behind() -> None:
    # Given
    gate = Gate()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(TasksSideBySide().run([gate.work(1), gate.work(2)]))
        await until_all_wait()

        # When
        running.cancel()

    # Then
    assert gate.cancelled == 2
