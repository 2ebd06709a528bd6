"""Points in time as options: an instant, or how long ago."""

import time
from typing import Final

import click

from kproxy.notation import TIME_FORMS, duration_ms_of, timestamp_ms_of


class Moment(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """An option's value: milliseconds since the epoch, from a time or from how long ago it was."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time; a number passes. Fails as click's own types do."""
        if isinstance(value, int):
            return value
        text = str(value)
        try:
            return time.time_ns() // 1_000_000 - duration_ms_of(text)
        except ValueError:
            pass
        try:
            return timestamp_ms_of(text)
        except ValueError:
            self.fail(
                f"{text!r} is no time: expected {TIME_FORMS}, or how long ago: 30s, 5m, 1h or 2d", param, ctx
            )


class Duration(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """An option's value: milliseconds, from what `duration_ms_of` understands."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the milliseconds; a number passes. Fails as click's own types do."""
        if isinstance(value, int):
            return value
        try:
            return duration_ms_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


MOMENT: Final = Moment()
DURATION: Final = Duration()
