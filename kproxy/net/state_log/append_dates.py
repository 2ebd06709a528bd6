"""`AppendDates`: the timestamps that appends to the state log bear, which a clock that jumped must not keep out of it.

A broker refuses what is dated more than an hour after its own time (`message.timestamp.after.max.ms`, by default since
Kafka 4.0), and what is dated before it by more than its operator allows. Nothing is decided by these dates: they are
for people, and for the history that is kept for them.
"""

import time
from collections.abc import Callable
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.handlers.ports import WallClock
from kproxy.net.state_log.append_outcome import AppendOutcome
from kproxy.notation import iso_time
from kproxy.telemetry import logs

log = logs.logger("net.state_log.append_dates")

NO_DATE: Final = -1
"""`RecordBatch.NO_TIMESTAMP`: every broker takes it."""

DISTRUST_SECONDS: Final = 60.0
"""How long the wall clock is not asked after a broker has refused what it said."""


class AppendDates:
    """Says what to date appends with: the wall clock, unless a leader has refused it a moment ago.

    Then time goes on from the last date that a leader took, and where there is none, or that is refused as well,
    appends bear no date.

    Args:
        wall_clock: what kproxy takes for the time.
        seconds: a clock that does not jump.
    """

    def __init__(self, wall_clock: WallClock, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._wall_clock = wall_clock
        self._seconds = seconds
        self._taken_ms = NO_DATE
        self._taken_at = 0.0
        self._is_distrusted_until = float("-inf")

    def now_ms(self) -> int:
        """Return what the wall clock says, in milliseconds since the epoch: for what stands in records."""
        return self._wall_clock.now_ms()

    def date_ms(self) -> int:
        """Return what the next append is to be dated with, in milliseconds since the epoch; -1 for no date."""
        if not self._is_distrusting():
            return self._wall_clock.now_ms()
        if self._taken_ms == NO_DATE:
            return NO_DATE
        return self._taken_ms + round((self._seconds() - self._taken_at) * 1000)

    def taken(self, date_ms: int) -> None:
        """Know that a leader took an append of this date."""
        if date_ms != NO_DATE:
            self._taken_ms, self._taken_at = date_ms, self._seconds()

    def is_refused(self, outcome: AppendOutcome, date_ms: int) -> bool:
        """Return whether an append failed because of its date alone, so that another one is worth a try."""
        if outcome.error_code is not ErrorCode.INVALID_TIMESTAMP or date_ms == NO_DATE:
            return False
        if self._is_distrusting():
            if date_ms <= self.date_ms():  # and not the wall clock's, of an append that was on its way
                self._taken_ms = NO_DATE
        else:
            log.warning(
                "append_date_refused",
                date=iso_time(date_ms),
                detail=outcome.detail,
                advice="compare this host's clock with those of the brokers; appends are dated otherwise meanwhile",
            )
        self._is_distrusted_until = self._seconds() + DISTRUST_SECONDS
        return True

    def _is_distrusting(self) -> bool:
        return self._seconds() < self._is_distrusted_until
