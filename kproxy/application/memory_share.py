"""How much memory this process may use, and which share of that connections may hold (`kproxy.max.buffered.bytes`)."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from kproxy.wording import counted

CONNECTIONS_PART: Final = 4
"""Connections hold at most this part of the memory there is: the program and what is live of share groups need some."""

MOST_BYTES: Final = 256 * 1024 * 1024
LEAST_BYTES: Final = 8 * 1024 * 1024

_OF_PROCESS: Final = Path("proc/self/cgroup")
_V2: Final = Path("sys/fs/cgroup")
_V1: Final = Path("sys/fs/cgroup/memory")


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """What connections may hold, in bytes, and why so much, for people."""

    budget_bytes: int
    source: str


def memory_share(configured_bytes: int | None, root: Path = Path("/")) -> MemoryShare:
    """Return what connections may hold: what is configured, or a quarter of what this process may use, within bounds.

    What it may use is the lowest limit of its cgroup and those above it, version 2 or 1, or else the machine's memory.
    Files are looked for under `root`.
    """
    if configured_bytes is not None:
        return MemoryShare(configured_bytes, "kproxy.max.buffered.bytes")
    limit_bytes, what = memory_limit(root)
    budget_bytes = max(LEAST_BYTES, min(limit_bytes // CONNECTIONS_PART, MOST_BYTES))
    return MemoryShare(budget_bytes, f"auto: {what} is {counted(limit_bytes, 'byte')}")


def memory_limit(root: Path = Path("/")) -> tuple[int, str]:
    """Return how many bytes this process may use, and what says so. Files are looked for under `root`."""
    physical_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [(limit, str(file)) for file in _limit_files(root) if (limit := _number_in(file))]
    # Without a limit version 1 has a number near 2^63.
    return min(
        (each for each in limits if each[0] < physical_bytes),
        default=(physical_bytes, "the machine's memory"),
    )


def _limit_files(root: Path) -> Iterator[Path]:
    """Yield the files that may limit this process: of its cgroups, and of each one above them.

    In a container the path may be that of the host, of which only the root is there.
    """
    try:
        lines = (root / _OF_PROCESS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _number, controllers, path = [*line.split(":", 2), "", ""][:3]
        folder, name = (_V2, "memory.max") if not controllers else (_V1, "memory.limit_in_bytes")
        if controllers and "memory" not in controllers.split(","):
            continue
        cgroup = PurePosixPath(path.lstrip("/"))
        for each in (cgroup, *cgroup.parents):
            yield root / folder / each / name


def _number_in(file: Path) -> int:
    """Return the number in `file`, 0 when there is none: `max` stands for no limit."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0
