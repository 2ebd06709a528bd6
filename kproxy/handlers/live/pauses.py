"""A turn for everybody else in the middle of work that is long."""

from collections.abc import Generator
from types import coroutine
from typing import Final

MOST_AT_ONCE: Final = 500
"""Share-partitions that a request may change before others have a turn: some 20 ms."""


_RUNS_OF_ONE: Final = 16
"""So many runs of offsets that a request changes are as much work as another share-partition."""


def work_on(run_count: int) -> int:
    """Return how much work a share-partition is of which so many runs of offsets are gone through (`Pace`)."""
    return 1 + run_count // _RUNS_OF_ONE


@coroutine
def let_others_go_on() -> Generator[None, None, None]:
    """Return in the next turn of the event loop."""
    yield


class Pace:
    """Tells whoever goes through very many share-partitions when it is time for a pause.

    Where `sharers` do so in the same turns, each has its share of the time until then.
    """

    __slots__ = ("_left", "_most")

    def __init__(self, *, sharers: int = 1) -> None:
        self._most = self._left = max(MOST_AT_ONCE // sharers, 1)

    def is_pause_due(self, work: int = 1) -> bool:
        """Count `work`, about as much as so many share-partitions; tell whether others should go on now."""
        self._left -= work
        if self._left > 0:
            return False
        self._left = self._most
        return True
