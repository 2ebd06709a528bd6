"""Connections on both sides of kproxy fail for a while: no record is lost or accepted twice, and nothing is left."""

import json
import os
import random
import sys
from typing import Any, Final

import pytest

from tests.faults.kinds import Kind
from tests.real_kafka.child import Child

EVERYDAY_MINUTES: Final = 1
EVERYDAY_SEED: Final = 1
MINUTES_OF_A_SOAK: Final = 10
SEED: Final = "FAULTS_SEED"
"""A variable of the environment, to have the faults of a former soak again."""
MORE_SECONDS: Final = 600.0
"""For the start, for faults that are rare (`RARE_SECONDS`), and until everything has settled and all have left."""

FAULTS_A_MINUTE: Final = 100
DELIVERIES_A_MINUTE: Final = 500
"""Far below what any machine does: some thousand."""


@pytest.mark.kafka
@pytest.mark.timeout(900)
def test_a_minute_of_faults_on_both_sides_costs_no_record_and_leaves_nothing_behind() -> None:
    # When
    outcome = run_faults(EVERYDAY_MINUTES, EVERYDAY_SEED)

    # Then
    _require_faults_and_work(outcome, EVERYDAY_MINUTES)


@pytest.mark.kafka
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_minutes_of_faults_on_both_sides_cost_no_record_and_leave_nothing_behind() -> None:
    # When
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(1 << 31))
    outcome = run_faults(MINUTES_OF_A_SOAK, seed)

    # Then
    _require_faults_and_work(outcome, MINUTES_OF_A_SOAK)


def run_faults(minutes: int, seed: int) -> dict[str, Any]:
    """Run the program, which fails when something does not hold; what it says at its end."""
    print(f"{SEED}={seed}")
    command = [sys.executable, "-m", "tests.faults", "--minutes", str(minutes), "--seed", str(seed)]
    with Child("faults", command) as run:
        line = run.next_line(timeout_seconds=MORE_SECONDS + minutes * 60)
        print(run.errors())
    outcome: dict[str, Any] = json.loads(line)
    print(json.dumps(outcome, indent=2))
    return outcome


def _require_faults_and_work(outcome: dict[str, Any], minutes: int) -> None:
    sides, kinds = (
        set(names) for names in zip(*(name.split(": ") for name in outcome["faults"]), strict=True)
    )
    assert sides == {"client", "broker"}
    assert kinds == {kind.value for kind in Kind}
    assert sum(outcome["faults"].values()) > FAULTS_A_MINUTE * minutes
    assert outcome["delivered_meanwhile"] > DELIVERIES_A_MINUTE * minutes
