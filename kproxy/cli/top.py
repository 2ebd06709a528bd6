"""`kproxy top`: which share groups do worst, on a screen that goes on, or as plain tables."""

import os
import sys
import time

import click

from kproxy.cli.admin_port import require_whole, with_admin_url
from kproxy.cli.known_names import group_names
from kproxy.cli.output import Output, with_output
from kproxy.cli.top_columns import COLUMNS
from kproxy.cli.watch import INTERVAL_SECONDS
from kproxy.clients.top.group_looks import groups_look
from kproxy.clients.top.group_rows import SORTS, GroupsLook, in_order, rows_of
from kproxy.clients.top.screen_state import ScreenState


@click.command(
    epilog="""Examples:

\b
  kproxy top
  kproxy top --sort redelivered --filter orders --count 1
  kproxy top --interval 10 --count 6 -o jsonl

On the screen: enter opens a group, / filters, p l i a d r o n sort, ? says more, q ends.
"""
)
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.1),
    default=INTERVAL_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Between two looks.",
)
@click.option(
    "--count", type=click.IntRange(1), help="Print so many tables and end; otherwise, off a terminal, one."
)
@click.option("--sort", type=click.Choice(tuple(SORTS)), default="pain", show_default=True, help="By what.")
@click.option(
    "--filter",
    "text",
    default="",
    shell_complete=group_names,
    help="Only groups with this in their id, or in this state.",
)
@with_admin_url
@with_output
def top(  # noqa: PLR0913 - one for each option
    *,
    interval_s: float,
    count: int | None,
    sort: str,
    text: str,
    admin_url: str,
    output: str,
    no_headers: bool,
) -> None:
    """Show the share groups that do worst first, with their rates, live.

    Pain is OLDEST-AGE, how long ago the oldest unfinished record was written, then lag, then redeliveries. Rates are
    records per second between two looks, so that a table takes one interval to make: ACK/S what members accepted or
    rejected. OLDEST-LOCK is for how long a member has held a record, counted from when it renewed its lock if it did. A
    screen on a terminal goes on until q; off one, with --count or with -o there are plain tables.
    """
    first = groups_look(admin_url, now_s=time.monotonic())
    if count is None and output == "table" and _is_screen():
        from kproxy.cli.top_looks import Looks
        from kproxy.cli.top_screen import show_until_ended

        state = ScreenState(sort=sort, text=text)
        show_until_ended(Looks(admin_url, first, interval_s=interval_s), admin_url, state)
        return
    before = first
    for number in range(count or 1):
        if number and output in {"table", "wide"}:
            click.echo()
        before = _table(admin_url, before, interval_s, (sort, text), Output(output, not no_headers))


def _is_screen() -> bool:
    """Tell whether there are a screen and a keyboard."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _table(
    admin_url: str, before: GroupsLook, interval_s: float, chosen: tuple[str, str], output: Output
) -> GroupsLook:
    """Print what happened since `before`, an interval from then; return the look that this is made of."""
    time.sleep(max(0.0, before.taken_s + interval_s - time.monotonic()))
    now = groups_look(admin_url, now_s=time.monotonic())
    sort, text = chosen
    rows = in_order(rows_of(before, now), sort=sort, text=text)
    output.show({**now.answer, "items": rows}, rows, COLUMNS)
    require_whole(now.answer)
    return now
