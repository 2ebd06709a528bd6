"""Tells a person how far a benchmark is: a bar on a terminal, a line per workload elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tests.benchmarks.workload import Steps

PLAIN_INTERVAL_SECONDS: Final = 10.0


@contextmanager
def shown_steps(total: int) -> Iterator[Steps]:
    """Yield what is told of each of `total` steps."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainSteps(total)
        return
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        yield _BarOfSteps(progress, progress.add_task("", total=total))


class _BarOfSteps:
    __slots__ = ("_progress", "_task")

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def begin(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def finish(self) -> None:
        self._progress.advance(self._task)


class _PlainSteps:
    __slots__ = ("_done", "_next_line_at", "_total")

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._next_line_at = 0.0

    def begin(self, text: str) -> None:
        if time.monotonic() >= self._next_line_at:
            print(f"{self._done} of {self._total}: {text}", file=sys.stderr, flush=True)
            self._next_line_at = time.monotonic() + PLAIN_INTERVAL_SECONDS

    def finish(self) -> None:
        self._done += 1
