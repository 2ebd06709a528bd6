"""Gaps of a fleet, measured and printed; the bars are those of kproxy/MEASUREMENTS.md."""

import json
import sys
from typing import Final

import pytest

from tests.misfortunes.measure import KILLED, MODULE, MOVED, UNDISTURBED
from tests.real_kafka.child import Child

ROUNDS: Final = 12
RUN_SECONDS: Final = 2_400.0
MOST_SECONDS: Final = {KILLED: 10.0, MOVED: 1.0}
"""For the 99th percentile; the session timeout, 6 s, is a part of the first."""
LEAST_CHANCE: Final = 0.001
"""Rarer than that, longer gaps are no accident."""


@pytest.mark.soak
@pytest.mark.timeout(2_700)
def test_groups_go_on_within_seconds_of_a_kill_within_one_of_a_planned_move_and_others_go_on_as_before() -> (
    None
):
    # When
    with Child("gaps", [sys.executable, "-m", MODULE, "--rounds", str(ROUNDS)]) as run:
        report = json.loads(run.next_line(timeout_seconds=RUN_SECONDS))
        print(run.errors())

    # Then
    p99 = {what: found["p99"] for what, found in report.items()}
    assert {what: p99[what] for what, most in MOST_SECONDS.items() if p99[what] >= most} == {}
    chances = {what: report[what]["chance of as many"] for what in UNDISTURBED}
    assert {what: chance for what, chance in chances.items() if chance < LEAST_CHANCE} == {}
