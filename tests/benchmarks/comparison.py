"""Arithmetic of comparisons: several arms measured in turn, and the ratios and differences within each round."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Quantity:
    """Something that is measured, and how it is written."""

    title: str
    unit: str
    decimals: int = 0

    def written(self, value: float) -> str:
        """`value` with as many decimals as make sense, without the unit."""
        return f"{value:,.{self.decimals}f}"


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some values, and the lowest and the highest of them."""

    median: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Self:
        """The spread of one value or more; raises `ValueError` when there is none."""
        known = sorted(values)
        if not known:
            raise ValueError("no values, so no median")
        return cls(statistics.median(known), known[0], known[-1])


class Series:
    """One quantity, measured once per round for each arm; rounds come in the same order for every arm."""

    __slots__ = ("_values", "quantity")

    def __init__(self, quantity: Quantity) -> None:
        self.quantity = quantity
        self._values: dict[str, list[float]] = {}

    def add(self, arm: str, value: float) -> None:
        """Note what the next round of `arm` gave."""
        self._values.setdefault(arm, []).append(value)

    def has(self, arm: str) -> bool:
        """Whether `arm` was measured at all; CPU of a relay, for one, is no quantity of going without."""
        return arm in self._values

    @property
    def arms(self) -> Sequence[str]:
        """The arms that were measured, in the order in which they first were."""
        return tuple(self._values)

    def values(self, arm: str) -> Sequence[float]:
        """What each round of `arm` gave, the first round first."""
        return tuple(self._values[arm])

    def spread(self, arm: str) -> Spread:
        """The median and the range of one arm."""
        return Spread.of(self._values[arm])

    def ratio(self, arm: str, to: str) -> Spread:
        """The spread of `arm` divided by `to`, each round by itself.

        Raises `ZeroDivisionError` where `to` gave 0, and `ValueError` if one has more rounds than the other.
        """
        return Spread.of(self._by_round(arm, to, lambda value, other: value / other))

    def excess(self, over: str, quantity: Quantity) -> "Series":
        """A series of the other arms, each round less what `over` gave in that round."""
        excess = Series(quantity)
        for arm in self._values:
            if arm != over:
                for value in self._by_round(arm, over, lambda value, other: value - other):
                    excess.add(arm, value)
        return excess

    def _by_round(self, arm: str, other: str, combine: Callable[[float, float], float]) -> list[float]:
        pairs = zip(self._values[arm], self._values[other], strict=True)
        return [combine(value, other_value) for value, other_value in pairs]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of `values` that at least `percent` of them do not exceed; 0 < percent <= 100."""
    if not values:
        raise ValueError("no values, so no percentile")
    ranked = sorted(values)
    rank = -(-len(ranked) * percent // 100)
    return ranked[max(int(rank), 1) - 1]


def rotated(arms: Sequence[T], round_number: int) -> list[T]:
    """`arms` in the order of a round: each round another one goes first."""
    first = round_number % len(arms)
    return [*arms[first:], *arms[:first]]
