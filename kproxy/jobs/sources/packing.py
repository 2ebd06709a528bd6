"""What each task reads: the small ranges of a log together, a big one alone.

A task costs far more than the reading of a few records: a worker, a connection. And a log of 50 partitions has mostly
small ones.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final

from kproxy.jobs.sources.log_reader import LogRange

_TASKS_PER_SLOT: Final = 2
"""So that no core is idle for long while others finish."""
_WORTH_A_TASK: Final = 10_000
"""Offsets: for fewer, one task less is quicker."""
_MOST_TOGETHER: Final = 250_000
"""Offsets: what runs again when a task fails, and what a task of several ranges folds."""


def packed(
    ranges: Iterable[LogRange], *, slots: int, most_per_task: int | None = None
) -> list[list[LogRange]]:
    """Return the ranges that each task reads, ascending. Each is in one task and whole; those without offsets in none.

    There are about as many tasks as keep `slots` cores busy, fewer for a small log. A range that is as long as the
    share of a task has one of its own; the others are dealt out evenly. A task of several ranges reads no more than
    250,000 offsets. With `most_per_task` ranges are cut, and no task reads more offsets than that.
    """
    most = min(most_per_task or _MOST_TOGETHER, _MOST_TOGETHER)
    wanted = [part for each in ranges for part in each.parts(most_per_task or max(1, each.length))]
    share = min(most, max(_WORTH_A_TASK, _total(wanted) // (slots * _TASKS_PER_SLOT)))
    alone = [[part] for part in wanted if part.length >= share]
    small = [part for part in wanted if part.length < share]
    return sorted(alone + _dealt_out(small, -(-_total(small) // share), most))


def _dealt_out(parts: list[LogRange], task_count: int, most: int) -> list[list[LogRange]]:
    """Return parts in so many tasks, the longest first: each goes to the task with the least, or to a new one."""
    tasks: list[list[LogRange]] = [[] for _ in range(task_count)]
    loads = [(0, number) for number in range(task_count)]
    for part in sorted(parts, key=lambda part: (-part.length, part)):
        load, number = heappop(loads)
        if load + part.length > most:
            heappush(loads, (load, number))
            load, number = 0, len(tasks)
            tasks.append([])
        tasks[number].append(part)
        heappush(loads, (load + part.length, number))
    return [sorted(task) for task in tasks if task]


def _total(parts: Iterable[LogRange]) -> int:
    return sum(part.length for part in parts)
