"""Limits of open files, lowered for a moment."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def file_limit(soft: int) -> Iterator[None]:
    """Let this process have so many files open meanwhile."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))


@contextmanager
def no_files_left() -> Iterator[None]:
    """Let as many files be open meanwhile as may be."""
    opened: list[int] = []
    with file_limit(64 + max(int(each.name) for each in Path("/proc/self/fd").iterdir())):
        try:
            with suppress(OSError):
                while True:
                    opened.append(os.dup(0))
            yield
        finally:
            for each in opened:
                os.close(each)
