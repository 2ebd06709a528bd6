"""`TaskKeeper`: where every long-lived task of kproxy is created, named, kept and ended."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

from kproxy.net.counting import Counting
from kproxy.telemetry import logs

log = logs.logger("net.tasks")

FAULT_PAUSE_SECONDS: Final = 1.0
"""How long a task that met a fault of kproxy's own pauses before it goes on."""


class TaskKeeper:
    """Holds a reference to each task it started until that task is done.

    asyncio itself keeps only weak references: a task nobody holds can be collected half-way. An exception
    that escapes from a task is logged once, with its trace; who must know of it handles it in the coroutine.
    """

    def __init__(self, counting: Counting | None = None) -> None:
        self._counting = counting
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

    def keep_up(
        self, run: Callable[[], Coroutine[object, object, None]], *, name: str, kind: str = ""
    ) -> asyncio.Task[None]:
        """Spawn `run`, which goes on for ever; when it raises all the same that is noted, and it is begun anew.

        `kind` is what is counted instead of `name` where there are many of a kind.
        """
        return self.spawn(self._again_and_again(run, kind or name), name=name)

    def note_fault(self, kind: str, fault: Exception) -> None:
        """Log and count what nobody expected in a task, or a callback, of a `kind` that goes on."""
        log.crash("task_fault", fault, task=kind)
        if self._counting is not None:
            self._counting.count("task_faults", 1, kind)

    async def close(self) -> None:
        """Cancel every task, and return when all of them have ended."""
        self._is_closed = True
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(self._tasks)

    async def _again_and_again(self, run: Callable[[], Coroutine[object, object, None]], kind: str) -> None:
        while True:
            try:
                await run()
            except Exception as fault:  # noqa: BLE001 - the top of a task that others rely on
                self.note_fault(kind, fault)
                await asyncio.sleep(FAULT_PAUSE_SECONDS)
            else:
                return

    def _let_go(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.crash("task_failed", failure, task=task.get_name())
