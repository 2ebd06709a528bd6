"""How field names and instants are written for people and scripts, wherever kproxy shows one."""

import re
from datetime import UTC, datetime
from typing import Final

TIME_FORMS: Final = "2026-11-20T13:00Z (in UTC if it names no zone), or milliseconds since 1970"
"""The values of `TIME`, for help texts."""
_DIGITS_OF_A_DATE: Final = 8
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d{1,12})(ms|s|m|h|d)")
LATEST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, the last that ISO 8601 text and `datetime` have."""


def camel_case(name: str) -> str:
    """Return a snake_case name in camelCase; the `is_` of a boolean goes, as Kafka's tools have it."""
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name.removeprefix("is_"))


def iso_time(epoch_ms: int) -> str:
    """Return an instant as ISO 8601 in UTC with milliseconds, such as `2026-11-21T12:00:00.000Z`."""
    seconds, milliseconds = divmod(epoch_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds:03d}Z"


def timestamp_ms_of(text: str) -> int:
    """Return milliseconds since the epoch of ISO 8601 text, or of a number that is that already.

    A time without a zone is UTC; a date is its first moment, and a number of eight digits is one: YYYYMMDD. Raises
    ValueError for anything else, and for times before the epoch or after the year 9999.
    """
    is_number = text.isascii() and text.isdigit() and len(text) != _DIGITS_OF_A_DATE
    timestamp_ms = int(text) if is_number else _moment_ms(text)
    if not 0 <= timestamp_ms <= LATEST_MS:
        raise ValueError(f"{timestamp_ms} ms since the epoch")
    return timestamp_ms


def duration_ms_of(text: str) -> int:
    """Return the milliseconds of `500ms`, `30s`, `5m`, `1h` or `1d`. Raises ValueError for anything else, and 0."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        raise ValueError(f"{text!r} is no duration: expected one like 30s, 5m or 1h")
    return int(found[1]) * _UNITS_MS[found[2]]


def _moment_ms(text: str) -> int:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
