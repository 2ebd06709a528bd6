"""`TaskKeeper`: where every long-lived task of kproxy is created, named, kept and ended."""

import asyncio
from collections.abc import Coroutine

from kproxy.telemetry import logs

log = logs.logger("net.tasks")


class TaskKeeper:
    """Holds a reference to each task it started until that task is done.

    asyncio itself keeps only weak references: a task nobody holds can be collected half-way. An exception
    that escapes from a task is logged once, with its trace; who must know of it handles it in the coroutine.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called: nothing new runs any more."""
        return self._is_closed

    def spawn(self, coroutine: Coroutine[object, object, None], *, name: str) -> asyncio.Task[None]:
        """Run `coroutine` as a task called `name`; after `close` the task is cancelled before it begins."""
        task = asyncio.create_task(coroutine, name=name)  # noqa: TID251 - this is the one place that keeps them
        self._tasks.add(task)
        task.add_done_callback(self._let_go)
        if self._is_closed:
            task.cancel()
        return task

    async def close(self) -> None:
        """Cancel every task, and return when all of them have ended."""
        self._is_closed = True
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.crash("task_failed", failure, task=task.get_name())
