"""Error codes of brokers, for whoever needed a success."""

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.cluster.broker_answers import BrokerRefusal, require_success


def test_a_success_is_no_refusal() -> None:
    require_success(0, "FindCoordinator of g at 127.0.0.1:9092")


def test_a_refusal_says_what_was_asked_of_whom_and_what_was_answered() -> None:
    # When
    with pytest.raises(BrokerRefusal) as caught:
        require_success(15, "FindCoordinator of g at 127.0.0.1:9092")

    # Then
    assert caught.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert str(caught.value) == "FindCoordinator of g at 127.0.0.1:9092: COORDINATOR_NOT_AVAILABLE (15)"


def test_a_code_without_a_name_is_told_as_it_came() -> None:
    # When / Then
    with pytest.raises(BrokerRefusal, match=r"ListGroups: UNKNOWN_SERVER_ERROR \(999\)"):
        require_success(999, "ListGroups")
