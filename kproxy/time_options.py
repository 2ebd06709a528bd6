"""Times and durations as people write them, as values of options; of every command, those of the jobs among them."""

import time
from typing import Final

import click

from kproxy.notation import TIME_FORMS, duration_ms_of, timestamp_ms_of


class TimeType(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """An option's value: milliseconds since the epoch, from what `timestamp_ms_of` understands."""

    name = "time"
    forms = TIME_FORMS

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time; a number passes. Fails as click's own types do."""
        if isinstance(value, int):
            return value
        try:
            return timestamp_ms_of(str(value))
        except ValueError:
            self.fail(f"{value!r} is no time: expected {self.forms}", param, ctx)


class Moment(TimeType):
    """The same, or how long ago it was."""

    forms = f"{TIME_FORMS}, or how long ago: 30s, 5m, 1h or 2d"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the time; a number passes. Fails as click's own types do."""
        try:
            return time.time_ns() // 1_000_000 - duration_ms_of(str(value))
        except ValueError:
            return super().convert(value, param, ctx)


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


TIME: Final = TimeType()
MOMENT: Final = Moment()
DURATION: Final = Duration()
