"""Few combinations of many choices, in which nevertheless every few of the choices meet.

Most faults need two or three choices to come together; testing every combination of all would take days.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

Choice: TypeAlias = str | int
Combination: TypeAlias = Mapping[str, Choice]
"""What is chosen of each dimension."""

_Meeting: TypeAlias = frozenset[tuple[str, Choice]]


def combinations_in_which_all_meet(
    dimensions: Mapping[str, Sequence[Choice]],
    *,
    together: int,
    is_possible: Callable[[Combination], bool] = lambda _combination: True,
) -> list[Combination]:
    """Combinations such that any `together` choices that can meet at all meet in one of them; the same every time.

    Greedy: the next one is that which brings most choices together that have not met yet, the first of equals.
    """
    possible = [
        combination
        for choices in itertools.product(*dimensions.values())
        if is_possible(combination := dict(zip(dimensions, choices, strict=True)))
    ]
    meetings = [frozenset(_meetings(combination, together)) for combination in possible]
    missing = set[_Meeting]().union(*meetings)
    chosen: list[Combination] = []
    while missing:
        best = max(range(len(possible)), key=lambda index: len(meetings[index] & missing))
        missing -= meetings[best]
        chosen.append(possible[best])
    return chosen


def _meetings(combination: Combination, together: int) -> Iterator[_Meeting]:
    return map(frozenset, itertools.combinations(combination.items(), together))
