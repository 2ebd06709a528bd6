"""What a case of the comparison is, and the list of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.conformance.grounds import Ground
from tests.conformance.scenario import Play

Scenario: TypeAlias = Callable[[Play], Iterator[None] | None]
"""A generator where the target is restarted: each `yield` stands for a restart."""

LAST_NUMBER: Final = 98


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is done, by its number in the list."""

    number: int
    scenario: Scenario
    missing: str = ""
    """What of it no target can show: that is reported as missing, and the rest compared. Empty where all is."""
    ground: Ground = Ground.SHARED

    @property
    def sentence(self) -> str:
        """What it says."""
        return self.scenario.__name__.replace("_", " ")

    @property
    def name(self) -> str:
        """Its number and its sentence, as in the id of its test."""
        return f"{self.number:02}-{self.scenario.__name__}"


CASES: Final[dict[int, Case]] = {}
"""Those that are written, by number."""


def case(number: int, *, missing: str = "", ground: Ground = Ground.SHARED) -> Callable[[Scenario], Scenario]:
    """Make the function a case. Numbers above the list's are of disagreements that were found beside it."""

    def register(scenario: Scenario) -> Scenario:
        assert number > 0, number
        assert number not in CASES, f"there is a case {number}"
        CASES[number] = Case(number, scenario, missing, ground)
        return scenario

    return register
