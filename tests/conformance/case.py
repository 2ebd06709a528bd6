"""What a case of the comparison is, and the list of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from tests.conformance.grounds import Ground
from tests.conformance.scenario import Play

Scenario: TypeAlias = Callable[[Play], Iterator[None] | None]
"""A generator where the target is restarted: each `yield` stands for a restart."""

LAST_NUMBER: Final = 98


class Lack(StrEnum):
    """What kproxy does not have yet, and what a case that needs it is expected to fail for."""

    DEAD_LETTERS = "dead letters: only Kafka 4.4 has them"


@dataclass(frozen=True, slots=True)
class Case:
    """One case: what is done, by its number in the list."""

    number: int
    scenario: Scenario
    lack: Lack | None = None
    """What kproxy lacks for it; None where it is to be answered alike."""
    is_missing: bool = False
    """Whether no target can show it: it is reported as missing, whatever else was compared."""
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


def case(
    number: int, *, lack: Lack | None = None, is_missing: bool = False, ground: Ground = Ground.SHARED
) -> Callable[[Scenario], Scenario]:
    """Make the function a case. Numbers above the list's are of disagreements that were found beside it."""

    def register(scenario: Scenario) -> Scenario:
        assert number > 0, number
        assert number not in CASES, f"there is a case {number}"
        CASES[number] = Case(number, scenario, lack, is_missing, ground)
        return scenario

    return register
