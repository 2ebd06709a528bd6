"""Whatever befalls a fleet: nothing is lost, what was answered stays answered, one member at a time has a record."""

import json
import os
import random
import sys
from typing import Any, Final

import pytest

from tests.misfortunes.catalogue import CATALOGUE
from tests.real_kafka.child import Child

EVERYDAY: Final = 10
EVERYDAY_SEED: Final = 1
OF_A_SOAK: Final = 100
"""For each way in which brokers keep producers."""
SEED: Final = "MISFORTUNES_SEED"
"""A variable of the environment, to have the misfortunes of a former soak again."""
SECONDS_OF_EACH: Final = 60.0
START_SECONDS: Final = 240.0


@pytest.mark.timeout(900)
def test_nothing_accepted_is_undone_and_nothing_is_lost_in_ten_misfortunes() -> None:
    # When
    report = run_misfortunes(EVERYDAY, EVERYDAY_SEED, producers="expiring")

    # Then
    assert sum(report["misfortunes"].values()) == EVERYDAY
    assert set(report["misfortunes"]) == set(CATALOGUE)


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("producers", ["kept", "expiring"])
def test_nothing_accepted_is_undone_and_nothing_is_lost_in_a_hundred_misfortunes(producers: str) -> None:
    # When
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(1 << 31))
    report = run_misfortunes(OF_A_SOAK, seed, producers=producers)

    # Then
    assert sum(report["misfortunes"].values()) == OF_A_SOAK


def run_misfortunes(count: int, seed: int, *, producers: str) -> dict[str, Any]:
    """Run the program, which fails when something does not hold; what it says at its end."""
    print(f"{SEED}={seed}")
    arguments = ["--misfortunes", str(count), "--seed", str(seed), "--producers", producers]
    with Child("misfortunes", [sys.executable, "-m", "tests.misfortunes", *arguments]) as run:
        line = run.next_line(timeout_seconds=START_SECONDS + count * SECONDS_OF_EACH)
        print(run.errors())
    report: dict[str, Any] = json.loads(line)
    print(json.dumps(report, indent=2))
    return report
