"""Lengths of time and moments in sentences. Pure."""

from datetime import UTC, datetime, timedelta
from typing import Final

from kproxy.notation import LATEST_MS

_UNITS: Final = (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def span_text(duration_ms: int) -> str:
    """Return a length of time as `29.0 s`, from a minute on as `1m46s`, `2h05m` or `3d04h`, rounded down."""
    seconds = duration_ms // 1000
    for unit, length, smaller, of_smaller in _UNITS:
        if seconds >= length:
            return f"{seconds // length}{unit}{seconds % length // of_smaller:02d}{smaller}"
    return f"{duration_ms / 1000:.1f} s"


def moment_text(epoch_ms: int, *, now_ms: int) -> str:
    """Return a moment as `18:20:13 UTC`, with the date before it unless it is that of `now_ms`."""
    moment, now = (_EPOCH + timedelta(milliseconds=min(each, LATEST_MS)) for each in (epoch_ms, now_ms))
    form = "%H:%M:%S UTC" if moment.date() == now.date() else "%Y-%m-%d %H:%M:%S UTC"
    return moment.strftime(form)


def ends_text(remaining_ms: int, *, now_ms: int) -> str:
    """Return when something ends: `in 29.0 s, at 18:20:13 UTC`."""
    return f"in {span_text(remaining_ms)}, at {moment_text(now_ms + remaining_ms, now_ms=now_ms)}"
