from typing import Final

from tests.demo.producer import Pace

PACE: Final = Pace(count=100, seconds=10.0, started=5.0)


def test_the_first_record_is_due_at_once_and_the_last_one_at_the_end() -> None:
    # When
    due = [PACE.due(now) for now in (5.0, 10.0, 15.0, 99.0)]

    # Then
    assert due == [1, 51, 100, 100]


def test_after_a_pause_records_are_sent_as_slowly_as_before() -> None:
    # When
    resumed = PACE.resumed(80, now=30.0)

    # Then
    assert [resumed.due(now) for now in (30.0, 31.0, 32.0)] == [81, 91, 100]


def test_without_a_pause_the_pace_goes_on_as_it_was() -> None:
    # When
    resumed = PACE.resumed(80, now=13.0)

    # Then
    assert resumed == PACE
