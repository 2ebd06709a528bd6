from kproxy.errors import BrokerUnavailable
from kproxy.net.broker_failures import AuthenticationExpected, BrokerFailure


def test_a_failure_reads_as_its_detail_and_counts_as_its_reason() -> None:
    failure = BrokerFailure("unreachable", "127.0.0.1:1 cannot be reached")
    assert str(failure) == "127.0.0.1:1 cannot be reached"
    assert failure.reason == "unreachable"
    assert isinstance(failure, BrokerUnavailable)


def test_a_failure_told_to_another_waiter_is_another_object_of_the_same_kind() -> None:
    # Given
    failure = AuthenticationExpected("closed_at_first_request", "it may expect SASL")

    # When
    again = failure.again()

    # Then
    assert again is not failure
    assert type(again) is AuthenticationExpected
    assert (again.reason, str(again)) == ("closed_at_first_request", "it may expect SASL")
