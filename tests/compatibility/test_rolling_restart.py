"""Brokers that restart one after the other are felt through kproxy as they are without it."""

import sys

import pytest

from tests.compatibility.rolling_restart import MODULE, RollingRestart
from tests.real_kafka.child import Child
from tests.real_kafka.versions import FIRST_YEARS_OF_KRAFT, OLDEST, REFERENCE, WITHOUT_SHARE_GROUPS

ROLL_TIMEOUT_SECONDS = 400.0

# Either client is told one of these when one of its commits falls into the moments in which its coordinator moves.
OF_A_MOVING_COORDINATOR = {
    f"consumer: {error}"
    for error in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
}


@pytest.mark.soak
@pytest.mark.timeout(450)
@pytest.mark.parametrize(
    "version",
    [release.version for release in (REFERENCE, WITHOUT_SHARE_GROUPS, FIRST_YEARS_OF_KRAFT, OLDEST)],
)
def test_a_rolling_restart_shows_a_client_no_error_that_it_would_not_see_without_kproxy(version: str) -> None:
    # Given
    # Kafka 2.8 repeats a record now and then, in one of ten of these runs; it was seen without kproxy, too.
    repeats_allowed = 1 if version == OLDEST.version else 0

    # When
    with Child("rolling restart", [sys.executable, "-m", MODULE, version]) as run:
        rolled = RollingRestart.from_line(run.next_line(timeout_seconds=ROLL_TIMEOUT_SECONDS))

    # Then
    through, direct = rolled.through_kproxy, rolled.direct
    assert through.kinds_of_errors - direct.kinds_of_errors - OF_A_MOVING_COORDINATOR == set()
    assert (through.undelivered, through.missing) == ({}, 0)
    assert through.lost == 0
    assert through.repeated <= repeats_allowed
    assert through.acknowledged > 0.8 * direct.acknowledged > 0
