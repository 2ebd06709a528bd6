import pytest

from kproxy.cli.exit_codes import ExitCode, failure_of
from kproxy.clients.failures import CannotConnect, TopicNotThere
from kproxy.errors import BrokerUnavailable, KproxyError, SettingsError


def test_the_numbers_are_those_that_scripts_hold_on_to() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "OK": 0,
        "FAILED": 1,
        "USAGE": 2,
        "NOT_FOUND": 3,
        "CANNOT_CONNECT": 4,
        "CHECK_FAILED": 5,
        "PARTIAL_FAILURE": 6,
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("kproxy.listen is wrong"), ExitCode.USAGE),
        (BrokerUnavailable("kafka:9092 refused"), ExitCode.CANNOT_CONNECT),
        (TopicNotThere("no topic states"), ExitCode.NOT_FOUND),
        (CannotConnect("nobody at kafka:9092"), ExitCode.CANNOT_CONNECT),
        (KproxyError("something else"), ExitCode.FAILED),
    ],
)
def test_an_error_from_below_becomes_a_message_and_a_code(error: KproxyError, code: ExitCode) -> None:
    # When
    failure = failure_of(error)

    # Then
    assert (failure.message, failure.exit_code) == (str(error), code)


def test_a_message_has_nothing_that_a_terminal_would_obey() -> None:
    # When
    failure = failure_of(KproxyError("no group is called \x1b]0;owned\x07\u202e, nor\n  \r\x9b2J"))

    # Then
    assert failure.format_message() == "no group is called \\x1b]0;owned\\x07\\u202e, nor\n  \\r\\x9b2J"


def test_several_problems_are_listed_under_their_number() -> None:
    assert (
        failure_of(SettingsError("first\nsecond")).message
        == "the configuration has 2 problems\n  first\n  second"
    )
