"""What is kept is replayed: no crash, no hang, no growth, on messages of every API and on all that was a crash once."""

import pytest

from tests.fuzz.corpus import CRASHES, FOLDER, kept, missing
from tests.fuzz.execution import LARGEST_FACTOR, execute_measured
from tests.fuzz.registry import TARGETS

every_target = pytest.mark.parametrize("name", TARGETS)


@every_target
def test_what_is_kept_breaks_no_rule_and_takes_no_more_memory_than_it_may(name: str) -> None:
    target = TARGETS[name]

    taken = [(execute_measured(target, seed.data), seed) for seed in kept(target)]

    assert max(size - LARGEST_FACTOR * len(seed.data) for size, seed in taken) <= target.allowance_bytes


@every_target
def test_every_seed_is_kept(name: str) -> None:
    """A new message has an input of its own: `python -m tests.fuzz.corpus` writes it."""
    assert [seed.name for seed in missing(TARGETS[name])] == []


def test_nothing_is_kept_of_targets_that_are_no_more() -> None:
    assert {file.stem for folder in (FOLDER, CRASHES) for file in folder.glob("*.hex")} <= set(TARGETS)
