"""Two members may be answered for one record where a stock broker would do so, and nowhere else."""

import pytest

from tests.real_kafka.acceptances import answered_early
from tests.real_kafka.accepter import Answer

RECORD = ("topic", 0, 7)


@pytest.mark.parametrize("answered_at", [[1.0], [1.0, 3.0], [3.0, 3.1], [1.0, 1.95]])
def test_all_answers_but_one_may_come_when_the_start_offset_has_passed_the_record(
    answered_at: list[float],
) -> None:
    assert answered_early([Answer(at, RECORD) for at in answered_at], {RECORD: 2.0}) == set()


def test_two_answers_before_that_are_told() -> None:
    assert answered_early([Answer(1.0, RECORD), Answer(1.5, RECORD), Answer(3.0, RECORD)], {RECORD: 2.0}) == {
        RECORD
    }


def test_two_answers_for_what_the_start_offset_never_passed_are_told() -> None:
    assert answered_early([Answer(1.0, RECORD), Answer(3.0, RECORD)], {}) == {RECORD}
