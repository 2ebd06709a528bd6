"""A lock between processes that the kernel lets go of when its holder dies."""

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

RETRY_SECONDS: Final = 0.1


@contextmanager
def file_lock(path: Path, *, while_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock named by the file `path`; calls `while_waiting` every 0.1 s while another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as held:
        while not lock_at_once(held):
            while_waiting()
            time.sleep(RETRY_SECONDS)
        yield


def lock_at_once(opened: IO[str]) -> bool:
    """Take the lock of an open file unless another has it; it is held until the file is closed."""
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
