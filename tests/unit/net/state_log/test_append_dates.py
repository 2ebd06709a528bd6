"""What appends are dated with when the clock has jumped."""

import logging

import pytest

from kproxy.error_codes import ErrorCode
from kproxy.net.state_log.append_dates import DISTRUST_SECONDS, NO_DATE, AppendDates
from kproxy.net.state_log.append_outcome import AppendOutcome
from tests.in_memory.manual_clock import ManualClock

NOON_MS = 1_800_000_000_000
FIVE_HOURS_MS = 5 * 3_600_000
REFUSED = AppendOutcome(ErrorCode.INVALID_TIMESTAMP, detail="state-0: INVALID_TIMESTAMP (32)")


class Dated:
    """Dates by two clocks that tests move one by one."""

    def __init__(self) -> None:
        self.wall, self.steady = ManualClock(NOON_MS), ManualClock(0)
        self.dates = AppendDates(self.wall, seconds=lambda: self.steady.now_ms() / 1000)

    def pass_time(self, milliseconds: int) -> None:
        self.wall.advance(milliseconds)
        self.steady.advance(milliseconds)


def test_appends_are_dated_with_the_wall_clock_wherever_it_jumps_as_long_as_nobody_refuses_that() -> None:
    dated = Dated()
    dated.dates.taken(NOON_MS)
    for jump_ms in (FIVE_HOURS_MS, -2 * FIVE_HOURS_MS):
        dated.wall.advance(jump_ms)
        assert dated.dates.date_ms() == dated.dates.now_ms() == dated.wall.now_ms()


def test_after_a_refusal_time_goes_on_from_the_last_date_that_was_taken_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Given
    dated = Dated()
    dated.dates.taken(NOON_MS)
    dated.pass_time(1_000)
    dated.wall.advance(FIVE_HOURS_MS)

    # When
    is_refused = dated.dates.is_refused(REFUSED, dated.dates.date_ms())

    # Then
    dated.pass_time(2_000)
    assert is_refused
    assert dated.dates.date_ms() == NOON_MS + 3_000
    assert dated.dates.now_ms() == NOON_MS + 3_000 + FIVE_HOURS_MS
    [line] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert line.msg == "append_date_refused"


def test_without_a_date_that_was_taken_appends_have_none_and_that_cannot_be_refused() -> None:
    dated = Dated()
    assert dated.dates.is_refused(REFUSED, NOON_MS)
    assert dated.dates.date_ms() == NO_DATE
    assert not dated.dates.is_refused(REFUSED, NO_DATE)


def test_when_the_time_that_goes_on_is_refused_as_well_appends_have_no_date() -> None:
    dated = Dated()
    dated.dates.taken(NOON_MS)
    dated.wall.advance(FIVE_HOURS_MS)
    assert dated.dates.is_refused(REFUSED, dated.dates.date_ms())
    assert dated.dates.is_refused(REFUSED, dated.dates.date_ms())
    assert dated.dates.date_ms() == NO_DATE


def test_refusals_of_appends_that_were_on_their_way_together_are_one_reason_for_distrust() -> None:
    # Given
    dated = Dated()
    dated.dates.taken(NOON_MS)
    dated.wall.advance(FIVE_HOURS_MS)
    sent_ms = dated.dates.date_ms()

    # When
    for _ in range(3):
        assert dated.dates.is_refused(REFUSED, sent_ms)

    # Then
    assert dated.dates.date_ms() == NOON_MS


def test_the_wall_clock_is_asked_again_after_a_while() -> None:
    dated = Dated()
    dated.dates.taken(NOON_MS)
    dated.wall.advance(FIVE_HOURS_MS)
    dated.dates.is_refused(REFUSED, dated.dates.date_ms())
    dated.wall.advance(-FIVE_HOURS_MS)
    dated.pass_time(round(DISTRUST_SECONDS * 1000))
    assert dated.dates.date_ms() == NOON_MS + 60_000


@pytest.mark.parametrize("error_code", [ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.NONE])
def test_what_is_refused_for_another_reason_is_no_matter_of_dates(error_code: ErrorCode) -> None:
    dated = Dated()
    assert not dated.dates.is_refused(AppendOutcome(error_code, 0), NOON_MS)
    assert dated.dates.date_ms() == NOON_MS
