"""At which attempt records are, and what comes after it."""

import pytest

from kproxy.clients.diagnosis.attempts import attempt_text, next_of_run
from tests.unit.clients.diagnosis.test_findings import NOON_MS, run


@pytest.mark.parametrize(("deliveries", "text"), [(1, "attempt 1 of 5"), (5, "attempt 5 of 5, the last one")])
def test_the_last_attempt_is_called_so(deliveries: int, text: str) -> None:
    assert attempt_text(run("Acquired", 7, 7, deliveries, "alice")) == text


def test_that_the_next_attempt_is_the_last_is_said_before() -> None:
    assert next_of_run(run("Acquired", 7, 7, 4, "alice"), now_ms=NOON_MS) == (
        "its lock ends in 27.1 s, at 12:00:27 UTC, then it is for any member: "
        "attempt 5 of 5, the last one: it is archived after that unless it is accepted"
    )


def test_where_the_moment_of_the_answer_is_not_known_a_lock_ends_in_so_long() -> None:
    assert next_of_run(run("Acquired", 7, 7, 1, "alice")) == (
        "its lock ends in 27.1 s, then it is for any member: attempt 2 of 5"
    )


@pytest.mark.parametrize(
    ("blocked_by", "text"),
    [
        (None, "the start offset passes it"),
        (3, "the start offset passes it when offset 3 is done with, and all between"),
    ],
)
def test_what_is_done_with_waits_for_the_start_offset(blocked_by: int | None, text: str) -> None:
    assert next_of_run({**run("Acknowledged", 7, 7), "blockedBy": blocked_by}) == text


@pytest.mark.parametrize(
    ("deliveries", "text"), [(2, "2 of 5 attempts over"), (0, "attempt 1 of 5 is to come")]
)
def test_of_what_nobody_holds_it_is_said_how_many_attempts_are_over(deliveries: int, text: str) -> None:
    assert attempt_text(run("Available", 7, 7, deliveries)) == text
