"""`--watch`: a command that shows something again and again, until somebody ends it."""

import io
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import wraps
from typing import Final, ParamSpec

import click

from kproxy.cli.exit_codes import CommandFailed, ExitCode, failure_of
from kproxy.errors import KproxyError

P = ParamSpec("P")

INTERVAL_SECONDS: Final = 2.0
"""Between two looks, unless told otherwise; that of `watch` and of `kubectl top`."""


def with_watch(command: Callable[P, object]) -> Callable[P, object]:
    """Give `command` the option `--watch`.

    A terminal shows the newest look alone, and anything else all of them one below the other. What a look could not
    find or reach is said, and looked for again; a first look that has nothing to show fails as the command does without
    the option.
    """

    @click.option(
        "--watch",
        "interval_seconds",
        type=click.FloatRange(min=0.1),
        is_flag=False,
        flag_value=INTERVAL_SECONDS,
        metavar="[SECONDS]",
        help=f"Show it again every so many seconds ({INTERVAL_SECONDS:g}), until Ctrl-C.",
    )
    @wraps(command)
    def watched(*args: P.args, **kwargs: P.kwargs) -> object:
        interval_seconds = kwargs.pop("interval_seconds")
        if interval_seconds is None:
            return command(*args, **kwargs)
        assert isinstance(interval_seconds, float)
        look_again_and_again(
            lambda: command(*args, **kwargs),
            is_terminal=sys.stdout.isatty(),
            pause=lambda: time.sleep(interval_seconds),
        )
        return None

    return watched


def look_again_and_again(
    look: Callable[[], object], *, is_terminal: bool, pause: Callable[[], object]
) -> None:
    """Print what `look` prints, `pause`, and so on, until KeyboardInterrupt.

    Raises what the first look raises that has nothing to show, and later what no other look could mend: wrong usage.
    """
    try:
        _show(look, is_terminal=is_terminal, is_first=True)
        while True:
            pause()
            _show(look, is_terminal=is_terminal)
    except KeyboardInterrupt:
        return


def _show(look: Callable[[], object], *, is_terminal: bool, is_first: bool = False) -> None:
    """Print all of a look in one go, so that a terminal does not flicker; what it printed before it failed, too."""
    shown, failure = io.StringIO(), None
    try:
        with redirect_stdout(shown):
            look()
    except (CommandFailed, KproxyError) as error:
        failure = error
    if is_terminal:
        click.clear()
    click.echo(shown.getvalue(), nl=False)
    if failure is None:
        return
    if is_first and not shown.getvalue():
        raise failure
    _require_passing(failure)


def _require_passing(error: CommandFailed | KproxyError) -> None:
    failed = error if isinstance(error, CommandFailed) else failure_of(error)
    if failed.exit_code == ExitCode.USAGE:
        raise failed
    click.echo(f"Error: {failed.format_message()}", err=True)
