"""Points in time as people write them."""

from typing import Final

import click

from kproxy.notation import TIME_FORMS, timestamp_ms_of


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
