"""A turn for everybody else in the middle of work that is long."""

from collections.abc import Generator
from types import coroutine
from typing import Final

MOST_AT_ONCE: Final = 500
"""Share-partitions that a request may change before others have a turn: some 20 ms."""


@coroutine
def let_others_go_on() -> Generator[None, None, None]:
    """Return in the next turn of the event loop."""
    yield
