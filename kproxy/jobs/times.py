"""Points in time as people write them."""

from datetime import UTC, datetime
from typing import Final

import click

TIME_FORMS: Final = "2026-11-20T13:00Z (in UTC if it names no zone), or milliseconds since 1970"
"""The values of `TIME`, for help texts."""
_DIGITS_OF_A_DATE: Final = 8
_LATEST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, the last that ISO 8601 text and `datetime` have."""


def timestamp_ms_of(text: str) -> int:
    """Return milliseconds since the epoch of ISO 8601 text, or of a number that is that already.

    A time without a zone is UTC; a date is its first moment, and a number of eight digits is one: YYYYMMDD. Raises
    ValueError for anything else, and for times before the epoch or after the year 9999.
    """
    is_number = text.isascii() and text.isdigit() and len(text) != _DIGITS_OF_A_DATE
    timestamp_ms = int(text) if is_number else _moment_ms(text)
    if not 0 <= timestamp_ms <= _LATEST_MS:
        raise ValueError(f"{timestamp_ms} ms since the epoch")
    return timestamp_ms


def _moment_ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


class TimeType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """An option's value: milliseconds since the epoch, from what `timestamp_ms_of` understands."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time; a number passes. Fails as click's own types do."""
        if isinstance(value, int):
            return value
        try:
            return timestamp_ms_of(str(value))
        except ValueError:
            self.fail(
                f"{value!r} is no time: expected {TIME_FORMS}",
                param,
                ctx,
            )


TIME: Final = TimeType()
