"""Bars: what a comparison has to reach, and whether it does."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from tests.benchmarks.comparison import Spread


class Side(Enum):
    """On which side of its limit a value is good."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit for the median of something that was measured; the limit itself is good."""

    title: str
    side: Side
    limit: float
    unit: str
    reached: Spread

    @property
    def is_met(self) -> bool:
        """Whether the median is on the good side."""
        if self.side is Side.AT_MOST:
            return self.reached.median <= self.limit
        return self.reached.median >= self.limit

    def as_json(self) -> dict[str, Any]:
        """The bar and what was reached, ready for a JSON file."""
        return {
            "title": self.title,
            "limit": f"{self.side.value} {self.limit:g}{self.unit}",
            "measured": self.reached.median,
            "met": self.is_met,
        }
