"""The checks find what they are for."""

from tests.misfortunes.checks import delivered_after_its_answer, held_by_two_at_once
from tests.real_kafka.accepter import Answer, Receipt

RECORD = ("topic", 0, 7)
LOCK_SECONDS = 15.0


def receipt(asked_at: float, got_at: float) -> Receipt:
    return Receipt(asked_at, got_at, RECORD)


def test_a_record_that_is_asked_for_and_delivered_after_its_acceptance_was_answered_is_told() -> None:
    found = delivered_after_its_answer([receipt(1.0, 1.1), receipt(3.0, 3.1)], [Answer(2.0, RECORD)])
    assert found == [f"{RECORD} answered at 2.000, asked for at 3.000, got at 3.100"]


def test_of_two_answers_the_first_one_counts() -> None:
    answers = [Answer(9.0, RECORD), Answer(2.0, RECORD)]
    assert delivered_after_its_answer([receipt(1.0, 1.1), receipt(3.0, 3.1)], answers) != []


def test_a_poll_that_began_before_the_answer_may_bring_the_record() -> None:
    assert delivered_after_its_answer([receipt(1.0, 1.1), receipt(1.9, 3.1)], [Answer(2.0, RECORD)]) == []


def test_two_deliveries_in_quiet_times_within_the_time_of_a_lock_are_told() -> None:
    found = held_by_two_at_once([receipt(1.0, 1.1), receipt(3.0, 3.1)], unquiet=[], lock_seconds=LOCK_SECONDS)
    assert found == [f"{RECORD} at 1.100 and at 3.100"]


def test_two_deliveries_of_which_the_second_one_comes_when_the_lock_is_over_are_in_order() -> None:
    deliveries = [receipt(1.0, 1.1), receipt(17.0, 17.1)]
    assert held_by_two_at_once(deliveries, unquiet=[], lock_seconds=LOCK_SECONDS) == []


def test_two_deliveries_between_which_something_happened_are_in_order() -> None:
    deliveries = [receipt(1.0, 1.1), receipt(3.0, 3.1)]
    assert held_by_two_at_once(deliveries, unquiet=[(2.0, 2.5)], lock_seconds=LOCK_SECONDS) == []
    assert held_by_two_at_once(deliveries, unquiet=[(4.0, 5.0)], lock_seconds=LOCK_SECONDS) != []
