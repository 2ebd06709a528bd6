"""A check says what was looked at, how it is, and what to do."""

from kproxy.clients.checkup.checks import Check, Outcome, Subject


def test_checks_are_about_their_subject_and_have_a_remedy_where_something_is_wrong() -> None:
    # Given
    subject = Subject("broker1:9092")

    # When
    checks = [
        subject.ok("name", "10.0.0.1"),
        subject.warning("clock", "2 s ahead", "keep time"),
        subject.failed("connection", "refused", "open the port"),
        subject.skipped("login", "no connection"),
    ]

    # Then
    assert checks == [
        Check("broker1:9092", "name", Outcome.OK, "10.0.0.1"),
        Check("broker1:9092", "clock", Outcome.WARNING, "2 s ahead", "keep time"),
        Check("broker1:9092", "connection", Outcome.FAILED, "refused", "open the port"),
        Check("broker1:9092", "login", Outcome.SKIPPED, "no connection"),
    ]
