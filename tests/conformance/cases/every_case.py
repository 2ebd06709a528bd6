"""All cases, by number: importing the modules is what registers them."""

from typing import Final

from tests.conformance.case import CASES, Case
from tests.conformance.cases import (
    acknowledgement,
    acquisition,
    administration,
    deliveries,
    disagreements,
    found_by_chance,
    groups,
    recovery,
    sessions,
    start_offsets,
)

SUBJECTS: Final = (
    sessions,
    acquisition,
    acknowledgement,
    deliveries,
    start_offsets,
    groups,
    administration,
    recovery,
    disagreements,
    found_by_chance,
)

EVERY_CASE: Final[tuple[Case, ...]] = tuple(CASES[number] for number in sorted(CASES))
