"""The part of the fuzzing that every run of the tests does: the same inputs each time, half a minute for all."""

import pytest

from tests.fuzz.corpus import kept
from tests.fuzz.execution import execute
from tests.fuzz.mutation import inputs
from tests.fuzz.registry import TARGETS

SEED = 932
"""Another number makes other inputs. Those of `make fuzz` are new each time."""


@pytest.mark.parametrize("name", TARGETS)
def test_bytes_that_are_nearly_right_break_no_rule(name: str) -> None:
    target = TARGETS[name]
    seeds = [seed.data for seed in kept(target)]

    for data in inputs(seeds, target.executions, seed=SEED):
        try:
            execute(target, data)
        except BaseException as error:
            error.add_note(f"{name}: {data.hex()}")
            raise
