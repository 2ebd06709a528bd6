"""`kproxy run` with a wall clock of its own: the real application, whose time of day a test moves.

Started instead of `-m kproxy`, with the same arguments. The variable `CLOCK_AHEAD_MS` says by how much the wall clock
is ahead at the start, and each line of the standard input by how much it is from then on; less than 0 is behind. The
clocks that do not jump are the machine's.
"""

import os
import threading
import time
from typing import Final

from kproxy.cli import main as command_line

CLOCK_AHEAD: Final = "CLOCK_AHEAD_MS"

_ahead_ns = 0
_machine_time_ns = time.time_ns


def main() -> None:
    """Run kproxy."""
    _set(os.environ.get(CLOCK_AHEAD, "0"))
    time.time_ns = _time_ns
    time.time = lambda: _time_ns() / 1_000_000_000  # noqa: TID251 - what else asks for the time, such as logging
    threading.Thread(target=_obey, name="clock", daemon=True).start()
    command_line.main()


def _time_ns() -> int:
    return _machine_time_ns() + _ahead_ns


def _obey() -> None:
    # Not `sys.stdin`: its lock must not be held when the interpreter ends.
    while command := os.read(0, 100):
        _set(command.decode().split()[-1])


def _set(ahead_ms: str) -> None:
    global _ahead_ns  # noqa: PLW0603 - there is one clock in a process
    _ahead_ns = int(ahead_ms) * 1_000_000


if __name__ == "__main__":
    main()
