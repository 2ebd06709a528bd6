"""Times of a membership that would let two members own one slot, or none, are refused."""

import pytest

from kproxy.fleet.limits import FleetLimits


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (
            {"lease_margin_ms": 3_001},
            "lease margin 3001 ms is more than half of the session timeout, 6000 ms",
        ),
        (
            {"heartbeat_interval_ms": 2_001},
            "heartbeat interval 2001 ms is more than a third of the session timeout",
        ),
        ({"rebalance_timeout_ms": 7_499}, "rebalance timeout 7499 ms is less than .* together, 7500 ms"),
    ],
)
def test_times_that_contradict_each_other_are_refused_with_both(wrong: dict[str, int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        FleetLimits(**wrong)


def test_a_session_as_long_as_brokers_allow_by_default_is_the_default() -> None:
    assert FleetLimits().session_timeout_ms == 6_000
