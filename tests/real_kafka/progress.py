"""Tells a person that something slow moves on: a live line on a terminal, else a line every 10 s."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from rich.console import Console

PLAIN_INTERVAL_SECONDS: Final = 10.0

Report: TypeAlias = Callable[[str], None]


@contextmanager
def progress() -> Iterator[Report]:
    """Yield a function that shows on standard error how far the work is; call it whenever there is news."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines().report
        return
    with console.status("") as status:
        yield status.update


class _PlainLines:
    __slots__ = ("_next_line_at",)

    def __init__(self) -> None:
        self._next_line_at = time.monotonic()

    def report(self, text: str) -> None:
        if time.monotonic() >= self._next_line_at:
            print(text, file=sys.stderr, flush=True)
            self._next_line_at = time.monotonic() + PLAIN_INTERVAL_SECONDS
