"""Gaps of a fleet, measured and printed; the bars are the README's."""

import json
import sys
from typing import Final

import pytest

from tests.misfortunes.measure import KILLED, MODULE, MOVED
from tests.real_kafka.child import Child

ROUNDS: Final = 12
RUN_SECONDS: Final = 1_500.0
MOST_SECONDS: Final = {KILLED: 10.0, MOVED: 1.0}
"""For the 99th percentile; the session timeout, 6 s, is a part of the first."""


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_groups_go_on_within_seconds_of_a_kill_and_within_one_of_a_planned_move() -> None:
    # When
    with Child("gaps", [sys.executable, "-m", MODULE, "--rounds", str(ROUNDS)]) as run:
        report = json.loads(run.next_line(timeout_seconds=RUN_SECONDS))
        print(run.errors())

    # Then
    p99 = {what: value for what, _, _, value, _ in report["rows"]}
    assert {what: p99[what] for what, most in MOST_SECONDS.items() if p99[what] >= most} == {}
