"""Which ranges each task reads: several small ones of a log together, or a big one alone.

Starting a task costs far more than reading a few records: a worker, a connection. And of 50 log partitions most are
small.
"""

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final

from kproxy.clients.log_ranges import LogRange

_TASKS_PER_SLOT: Final = 2
"""More than one, so that cores are not idle for long while the last tasks finish."""
_WORTH_A_TASK: Final = 10_000
"""Offsets: fewer are read sooner by an existing task than by one of their own."""
_MOST_TOGETHER: Final = 250_000
"""Offsets: the most that a task of several ranges folds, and has to repeat when it fails."""


def packed(
    ranges: Iterable[LogRange], *, slots: int, most_per_task: int | None = None
) -> list[list[LogRange]]:
    """Return the ranges that each task reads, ascending. Each is in one task and whole; empty ranges are left out.

    There are about as many tasks as keep `slots` cores busy, fewer for a small log. A range that is as long as the
    share of a task has one of its own; the others are distributed evenly. A task of several ranges reads no more than
    250,000 offsets. With `most_per_task` ranges are cut, and no task reads more offsets than that.
    """
    most = min(most_per_task or _MOST_TOGETHER, _MOST_TOGETHER)
    wanted = [part for each in ranges for part in each.parts(most_per_task or max(1, each.length))]
    share = min(most, max(_WORTH_A_TASK, _total(wanted) // (slots * _TASKS_PER_SLOT)))
    alone = [[part] for part in wanted if part.length >= share]
    small = [part for part in wanted if part.length < share]
    return sorted(alone + _distributed(small, -(-_total(small) // share), most))


def _distributed(parts: list[LogRange], task_count: int, most: int) -> list[list[LogRange]]:
    """Return parts over `task_count` tasks, the longest first: each goes to the task with the least, or a new one."""
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
