"""What the operating system says of processes: CPU time and memory."""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND: Final = os.sysconf("SC_CLK_TCK")
IDLE_COLUMNS: Final = frozenset({3, 4})
"""Of the `cpu` line of /proc/stat: idle, and waiting for a disk."""
OWN_COLUMNS: Final = 8
"""User, nice, system, idle, iowait, irq, softirq, steal; guests are counted in user and nice."""

_libc: Final = ctypes.CDLL(None, use_errno=True)


@dataclass(slots=True)
class CpuUse:
    """CPU seconds of a process, set when the measurement ends."""

    seconds: float = 0.0


def cpu_seconds(process_id: int) -> float:
    """User and system time of all threads of a process, those that ended too, in nanosecond steps.

    Raises `ProcessLookupError`. `/proc/PID/stat` has the same account in steps of 10 ms.
    """
    clock = ctypes.c_int()
    error = _libc.clock_getcpuclockid(process_id, ctypes.byref(clock))
    if error:
        raise ProcessLookupError(error, os.strerror(error), str(process_id))
    return time.clock_gettime(clock.value)


@contextmanager
def cpu_use(process_id: int | None) -> Iterator[CpuUse]:
    """Measure the CPU time of a process, or of none (0), while the `with` lasts."""
    use = CpuUse()
    before = cpu_seconds(process_id) if process_id is not None else 0.0
    yield use
    if process_id is not None:
        use.seconds = cpu_seconds(process_id) - before


def resident_bytes(process_id: int) -> int:
    """The memory that a process occupies now."""
    _size, resident, *_ = Path(f"/proc/{process_id}/statm").read_text().split()
    return int(resident) * PAGE_BYTES


def busy_seconds_of_machine() -> float:
    """CPU seconds that all processors were busy since the machine started, or were taken away by its host."""
    with Path("/proc/stat").open() as stat:
        columns = stat.readline().split()[1 : OWN_COLUMNS + 1]
    busy = sum(int(column) for number, column in enumerate(columns) if number not in IDLE_COLUMNS)
    return busy / TICKS_PER_SECOND
