"""Long work as a generator: it yields how much it did since it yielded last, and returns what came of it.

Counted are *places*: a member with one partition, or a name with one subscription, that is looked at once. So whoever
drives it decides how much is done before others have a turn, and nothing here knows a clock. What reads state that
others may change in between says so.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")

Portions: TypeAlias = Generator[int, None, T]
"""Work that returns a T."""

PLACES_OF_ONE: Final = 50
"""So many places are as much work as a small group (`GroupCoordinator.assign`): some 20 microseconds."""

PLACES_AT_ONCE: Final = 25_000
"""So many are looked at in one call, whoever makes it, some 10 ms: a round with no more is held at once."""

POOL_PLACES: Final = 8
"""A topic counts for so many more than it has partitions."""

_AT_A_TIME: Final = 1_000


def whole(work: Portions[T]) -> T:
    """Do all of `work`; return what came of it."""
    while True:
        try:
            next(work)
        except StopIteration as over:
            result: T = over.value
            return result


class WorkUnderWay:
    """Work that is done in portions, by one who says how much."""

    __slots__ = ("_work", "is_over")

    def __init__(self, work: Portions[None]) -> None:
        self._work = work
        self.is_over = False

    def go_on(self, at_most: int) -> int:
        """Do about `at_most` places of what is left; return how many it was."""
        done = 0
        while done < at_most and not self.is_over:
            try:
                done += next(self._work)
            except StopIteration:
                self.is_over = True
        return done


def slices_of(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `items` in parts that are looked at in one portion each."""
    for begin in range(0, len(items), _AT_A_TIME):
        yield items[begin : begin + _AT_A_TIME]
