import pytest

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure, PeerFailure
from kproxy.net.cluster.broker_answers import BrokerRefusal
from kproxy.net.cluster.view import TopicIdsMissing
from kproxy.net.state_log.log_scan import LogTruncated


def test_a_failure_reads_as_its_detail_and_counts_as_its_reason() -> None:
    failure = BrokerFailure("unreachable", "127.0.0.1:1 cannot be reached")
    assert str(failure) == "127.0.0.1:1 cannot be reached"
    assert failure.reason == "unreachable"
    assert isinstance(failure, BrokerUnavailable)


@pytest.mark.parametrize(
    "failure",
    [
        BrokerUnavailable("nobody answers"),
        TopicIdsMissing("it is older than 2.8"),
        BrokerFailure("unreachable", "127.0.0.1:1 cannot be reached"),
        PeerFailure("unreachable", "127.0.0.1:1 cannot be reached"),
        AuthenticationExpected("closed_at_first_request", "it may expect SASL"),
        BrokerRefusal(ErrorCode.INVALID_REQUEST, "Metadata of 127.0.0.1:1"),
        LogTruncated("partition 3 ends at 7", 5),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_failure_told_to_another_waiter_is_another_object_that_says_the_same(
    failure: BrokerUnavailable,
) -> None:
    # Given
    failure.__context__ = ValueError("what one waiter was handling")

    # When
    again = failure.again()

    # Then
    assert again is not failure
    assert type(again) is type(failure)
    assert (str(again), vars(again)) == (str(failure), vars(failure))
    assert again.__context__ is None
