"""The checks find what they are for."""

from collections.abc import Mapping, Sequence

import pytest

from tests.misfortunes.checks import Span, delivered_after_its_answer, held_by_two_at_once
from tests.real_kafka.accepter import Answer, Receipt

RECORD = ("topic", 0, 7)
LOCK_SECONDS = 15.0


def held_by_two(
    deliveries: Sequence[Receipt],
    *,
    unquiet: Sequence[Span] = (),
    claimed_at: Mapping[str, Sequence[float]] | None = None,
    acquired_at: Sequence[float] | None = None,
) -> list[str]:
    return held_by_two_at_once(
        deliveries,
        unquiet=unquiet,
        claimed_at=claimed_at or {},
        lock_seconds=LOCK_SECONDS,
        acquired_at=None if acquired_at is None else {RECORD: acquired_at},
    )


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


@pytest.mark.parametrize(
    ("acquired_at", "is_told"), [(2.5, True), (1.5, False)], ids=["after the answer", "before it"]
)
def test_what_a_client_has_had_since_before_the_answer_is_told_of_only_if_it_was_acquired_again(
    acquired_at: float, *, is_told: bool
) -> None:
    deliveries = [receipt(1.0, 1.1), receipt(3.0, 3.1)]
    found = delivered_after_its_answer(deliveries, [Answer(2.0, RECORD)], {RECORD: acquired_at})
    assert bool(found) is is_told


def test_two_deliveries_in_quiet_times_within_the_time_of_a_lock_are_told() -> None:
    found = held_by_two([receipt(1.0, 1.1), receipt(3.0, 3.1)])
    assert found == [f"{RECORD} by a member at 1.100 and by a member at 3.100"]


def test_two_deliveries_of_which_the_second_one_comes_when_the_lock_is_over_are_in_order() -> None:
    deliveries = [receipt(1.0, 1.1), receipt(17.0, 17.1)]
    assert held_by_two(deliveries) == []


def test_two_deliveries_between_which_something_happened_are_in_order() -> None:
    deliveries = [receipt(1.0, 1.1), receipt(3.0, 3.1)]
    assert held_by_two(deliveries, unquiet=[(2.0, 2.5)]) == []
    assert held_by_two(deliveries, unquiet=[(4.0, 5.0)]) != []


@pytest.mark.parametrize(
    ("claimed_at", "is_told"),
    [
        ({"topic": [2.0]}, False),
        ({"topic": [0.5]}, False),
        ({"topic": [-0.5]}, True),
        ({"topic": [3.2]}, True),
        ({"another": [2.0]}, True),
    ],
    ids=["between", "behind its fetch", "before its fetch", "afterwards", "another group's slot"],
)
def test_two_deliveries_between_which_the_slot_was_claimed_are_in_order(
    claimed_at: Mapping[str, Sequence[float]], *, is_told: bool
) -> None:
    found = held_by_two([receipt(1.0, 1.1), receipt(3.0, 3.1)], claimed_at=claimed_at)
    assert bool(found) is is_told


@pytest.mark.parametrize(
    ("acquired_at", "is_told"),
    [
        ([1.0, 16.0], False),
        ([1.1, 16.0], False),
        ([2.0, 16.5], True),
        ([14.0, 16.0], True),
        ([1.0, 40.0], True),
        ([1.0], True),
        ([], True),
    ],
    ids=["a lock apart", "nearly so", "sooner", "at once", "later", "once", "never"],
)
def test_what_a_client_kept_for_longer_than_its_lock_is_told_of_unless_another_one_acquired_it_later(
    acquired_at: Sequence[float], *, is_told: bool
) -> None:
    late, in_time = receipt(17.0, 17.1), receipt(16.0, 16.1)
    assert bool(held_by_two([in_time, late], acquired_at=acquired_at)) is is_told


def test_two_acquisitions_between_which_something_happened_explain_what_clients_kept() -> None:
    late, in_time = receipt(17.0, 17.1), receipt(16.0, 16.1)
    assert held_by_two([in_time, late], unquiet=[(3.0, 4.0)], acquired_at=[2.0, 5.0]) == []
    assert held_by_two([in_time, late], unquiet=[(6.0, 7.0)], acquired_at=[2.0, 5.0]) != []
