"""`Target`, and one execution of it: with a deadline, and measured."""

import signal
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

MOST_BYTES: Final = 4096
"""The longest input that runners make up. Longer ones find nothing more, and slowly."""

DEADLINE_S: Final = 2.0
"""Processor time that one execution may take: ten thousand times what most take."""

LARGEST_ALLOWANCE_BYTES: Final = 64 * 1024
"""Memory that an execution may take whatever its input: a session, a fold, a handshake."""

LARGEST_FACTOR: Final = 120
"""Memory that it may take for each byte of its input. A byte can be an empty element of an array: in Python an object
of 60 to 120 bytes. How many of these a request may have is bounded on its own (`LARGEST_REQUEST_ELEMENTS`)."""


@dataclass(frozen=True, slots=True)
class Seed:
    """An input to begin with. `name` says what it is."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """Something that takes any bytes.

    `run` raises when a rule is broken; what the code under test may raise it catches. `executions` is how often it
    is run in `make test`.
    """

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], Iterable[Seed]]
    executions: int = 2000
    allowance_bytes: int = LARGEST_ALLOWANCE_BYTES


class Hang(BaseException):
    """An execution took longer than its deadline. No Exception, so that the code under test does not catch it."""


class Growth(AssertionError):
    """An execution took more memory than its input can account for."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise Hang in the middle of what takes more than so much processor time. Does nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGVTALRM, _raise_hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def execute(target: Target, data: bytes, *, deadline_s: float = DEADLINE_S) -> None:
    """Run `target` once. Raises what it raises, and Hang."""
    with deadline(deadline_s):
        target.run(data)


def execute_measured(target: Target, data: bytes) -> int:
    """Run `target` twice, the second time with an eye on memory; return how many bytes it took at most.

    The first time makes what lasts: codecs, caches, memory of the allocator. Raises Growth, and as `execute`.
    """
    execute(target, data)
    with traced():
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        execute(target, data)
        _, peak = tracemalloc.get_traced_memory()
    taken = peak - before
    if taken > target.allowance_bytes + LARGEST_FACTOR * len(data):
        raise Growth(f"{target.name}: {taken} bytes of memory for an input of {len(data)}")
    return taken


@contextmanager
def traced() -> Iterator[None]:
    """Let memory be traced within, and stop that afterwards."""
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


def _raise_hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hang("it took too much processor time")
