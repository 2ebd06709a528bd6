"""Straight lines through what was measured: how time grows."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self, TypeAlias

import numpy as np

Points: TypeAlias = Sequence[tuple[float, float]]
"""Places and what was measured there, all above 0."""


@dataclass(frozen=True, slots=True)
class StraightLine:
    """The straight line that is nearest to some points, and how near it is.

    Distances are relative, since so are the errors of times. `explained` is R², the part of the variance that lies in
    the line; `farthest` is how far off it the farthest point is, as a part of the line's own height there.
    """

    at_zero: float
    slope: float
    explained: float
    farthest: float

    @classmethod
    def through(cls, points: Points) -> Self:
        """Return the line through two points, or nearest to more of them."""
        places, values = np.array(points, float).T
        weights = 1 / values
        slope, at_zero = np.polyfit(places, values, 1, w=weights)
        line = at_zero + slope * places
        mean = np.average(values, weights=weights**2)
        unexplained: Any = np.sum((weights * (values - line)) ** 2) / np.sum((weights * (values - mean)) ** 2)
        farthest: Any = np.max(np.abs(values / line - 1))
        return cls(float(at_zero), float(slope), float(1 - unexplained), float(farthest))

    def at(self, place: float) -> float:
        """Return the height of the line."""
        return self.at_zero + self.slope * place

    def as_json(self) -> dict[str, Any]:
        """The line, ready for a JSON file."""
        return asdict(self)


def exponent(points: Points) -> float:
    """Return the power of the place that the values grow with: 1 is in proportion, 2 with the square."""
    logarithms = [(math.log(place), math.log(value)) for place, value in points]
    return statistics.linear_regression(*zip(*logarithms, strict=True)).slope
