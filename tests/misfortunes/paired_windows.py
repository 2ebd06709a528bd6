"""Longest gaps in windows in which something happened, beside those of the same groups in quiet windows just before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.misfortunes.gaps import percentile

SHUFFLES: Final = 2_000
SHUFFLE_SEED: Final = 1


@dataclass(frozen=True, slots=True)
class Pair:
    """The longest gaps of one group, in seconds, in two windows of the same length."""

    event: int
    """Groups that went through the same event have the same number."""
    quiet: float
    """In the window before the event."""
    disturbed: float
    """In the window that the event began."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What pairs of one kind come to; there is one at least."""

    pairs: Sequence[Pair]

    @property
    def quiet(self) -> list[float]:
        """Of each quiet window the longest gap."""
        return [pair.quiet for pair in self.pairs]

    @property
    def disturbed(self) -> list[float]:
        """Of each other window the longest gap."""
        return [pair.disturbed for pair in self.pairs]

    @property
    def quiet_p99(self) -> float:
        """The longest of fewer than 100."""
        return percentile(self.quiet, 0.99)

    def above(self) -> int:
        """How many windows with an event have a longer gap than the p99 of the quiet ones."""
        return _above(self.pairs)

    def chance_of_as_many(self) -> float:
        """How often as many or more would be above if the events made no difference, from 0 to 1.

        Then either window of a pair might as well have been the quiet one. So they change places at random, for all
        groups of one event at once, for what a machine does it does to all of them: a permutation test.
        """
        chance, seen = Random(SHUFFLE_SEED), self.above()
        as_many = sum(_above(_shuffled(self.pairs, chance)) >= seen for _ in range(SHUFFLES))
        return as_many / SHUFFLES

    def as_json(self) -> dict[str, Any]:
        """All figures, in seconds, and every pair."""
        return {
            "windows": len(self.pairs),
            "median": percentile(self.disturbed, 0.5),
            "p99": percentile(self.disturbed, 0.99),
            "longest": max(self.disturbed),
            "quiet median": percentile(self.quiet, 0.5),
            "quiet p99": self.quiet_p99,
            "quiet longest": max(self.quiet),
            "above quiet p99": self.above(),
            "chance of as many": self.chance_of_as_many(),
            "pairs": [[pair.event, pair.quiet, pair.disturbed] for pair in self.pairs],
        }


def _above(pairs: Iterable[Pair]) -> int:
    pairs = list(pairs)
    limit = percentile((pair.quiet for pair in pairs), 0.99)
    return sum(pair.disturbed > limit for pair in pairs)


def _shuffled(pairs: Iterable[Pair], chance: Random) -> list[Pair]:
    pairs = list(pairs)
    is_swapped = {event: chance.random() < 0.5 for event in sorted({pair.event for pair in pairs})}
    return [
        Pair(pair.event, pair.disturbed, pair.quiet) if is_swapped[pair.event] else pair for pair in pairs
    ]
