"""What is seen while the demo runs: a live view on a terminal, plain lines elsewhere. Fits 80 columns."""

import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tests.demo.book import Book
from tests.demo.fleet_status import FleetStatus
from tests.demo.ledger import Outcome, Tally
from tests.demo.milestones import UPDATE, in_hand, milestones
from tests.demo.outage import Outage, OutageKind
from tests.demo.plan import GROUP, Plan

PLAIN_INTERVAL_SECONDS: Final = 2.0
PLAIN_PATIENCE_SECONDS: Final = 10.0
PLAIN_COLUMNS: Final = 10
STEP_COLUMNS: Final = 66
BAR_COLUMNS: Final = 38
WHEREABOUTS_COLUMNS: Final = 76

OUTCOME_STYLES: Final = {
    Outcome.ACCEPTED: "green",
    Outcome.RELEASED: "yellow",
    Outcome.REJECTED: "red",
    Outcome.TIMED_OUT: "magenta",
    Outcome.CUT_OFF: "cyan",
}
"""The ways to end a delivery in the order in which they are shown."""


GOOD_MARK: Final = "✓"
BAD_MARK: Final = "✗"
ASCII_MARKS: Final = {GOOD_MARK: "+", BAD_MARK: "!"}


@dataclass(slots=True)
class Step:
    """What a step says when it is done, and whether all is well; may be put better on the way."""

    text: str
    is_good: bool = True


def mark(console: Console, *, is_good: bool) -> tuple[str, str]:
    """The start of a line that says whether something is well, and its style."""
    sign = GOOD_MARK if is_good else BAD_MARK
    shown = sign if console.encoding.startswith("utf") else ASCII_MARKS[sign]
    return f"  {shown} ", "green" if is_good else "bold red"


class View:
    """Writes to a console what the story shows."""

    def __init__(self, console: Console, started: float) -> None:
        """`started` is when the demo began, in seconds of the monotonic clock."""
        self.console = console
        self._started = started
        self._live: Live | None = None
        self._next_plain_line_at = 0.0
        self._has_shown_titles = False
        self._has_shown_first_accepted = False
        self._shown_milestones = 0
        self._shown_whereabouts = ""

    @property
    def elapsed_seconds(self) -> float:
        """Since the demo began."""
        return time.monotonic() - self._started

    def say(self, text: str = "", *, style: str = "") -> None:
        """Write a line as it is."""
        self.console.print(Text(text, style=style), soft_wrap=True)

    def done(self, text: str, seconds: float, *, is_good: bool = True) -> None:
        """Write that something is done, and what it took."""
        line = Text.assemble(
            mark(self.console, is_good=is_good), f"{text:<{STEP_COLUMNS}} ", (f"{seconds:5.1f} s", "dim")
        )
        self.console.print(line, soft_wrap=True)

    @contextmanager
    def step(self, text: str) -> Iterator[Step]:
        """Show that something goes on, and when it is done that it is, with the seconds it took."""
        began = time.monotonic()
        step = Step(text)
        with self.console.status(f"  {text} …") if self._can_animate else nullcontext():
            yield step
        self.done(step.text, time.monotonic() - began, is_good=step.is_good)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Make room for what `show` draws; it is gone afterwards."""
        if not self._can_animate:
            # The first line says when the first record is accepted, if that comes before long.
            self._next_plain_line_at = time.monotonic() + PLAIN_PATIENCE_SECONDS
            yield
            return
        with Live(console=self.console, auto_refresh=False, transient=True) as self._live:
            yield
        self._live = None

    def show(self, book: Book, plan: Plan, fleet: FleetStatus | None = None) -> None:
        """Draw how far things are, as often as the place allows; `fleet` only if there are several kproxies."""
        now = time.monotonic()
        if book.first_accepted_at is not None and not self._has_shown_first_accepted:
            self._has_shown_first_accepted = True
            self._next_plain_line_at = now
            self.done(
                "first record accepted, since the start of the demo", book.first_accepted_at - self._started
            )
        self._show_milestones(book)
        if fleet is not None and _is_everybody_at_work(book):
            self._show_whereabouts(fleet)
        if self._live is not None:
            self._live.update(_scene(book, plan, fleet, now), refresh=True)
        elif now >= self._next_plain_line_at:
            self._show_plainly(book, now)

    @property
    def _can_animate(self) -> bool:
        return self.console.is_terminal and not self.console.is_dumb_terminal

    def _show_milestones(self, book: Book) -> None:
        come = [milestone for outage in book.outages for milestone in milestones(outage, self._started)]
        for milestone in come[self._shown_milestones :]:
            self.done(*milestone)
        self._shown_milestones = len(come)

    def _show_whereabouts(self, fleet: FleetStatus) -> None:
        whereabouts = f"{GROUP} served by {fleet.server_of(GROUP)}; {fleet.places_in_words}"
        if fleet.is_whole and fleet.is_everybody_somewhere and whereabouts != self._shown_whereabouts:
            self._shown_whereabouts = whereabouts
            for line in textwrap.wrap(whereabouts, WHEREABOUTS_COLUMNS):
                self.say(f"    {line}")

    def _show_plainly(self, book: Book, now: float) -> None:
        if not self._has_shown_titles:
            self._has_shown_titles = True
            titles = ("time", "produced", *(outcome.value for outcome in OUTCOME_STYLES), "records/s")
            self.say("".join(f"{title:>{PLAIN_COLUMNS}}" for title in titles))
        counts = [len(book.produced), *(book.total(outcome) for outcome in OUTCOME_STYLES)]
        cells = "".join(f"{count:>{PLAIN_COLUMNS},}" for count in (*counts, round(book.rate(now))))
        self.say(f"{self.elapsed_seconds:{PLAIN_COLUMNS - 2}.0f} s{cells}")
        self._next_plain_line_at = now + PLAIN_INTERVAL_SECONDS


# ---- the live scene


def _is_everybody_at_work(book: Book) -> bool:
    is_calm = book.outage is None or book.outage.back_at is not None
    return is_calm and all(tally.delivered for tally in book.tallies.values())


def _scene(book: Book, plan: Plan, fleet: FleetStatus | None, now: float) -> RenderableType:
    kproxies = [] if fleet is None else [_kproxies(fleet)]
    parts = [_bars(book, plan, now), _members(book), *kproxies, _troubles(book, now)]
    return Group(*(Padding(part, (1, 0, 0, 2)) for part in parts))


def _bars(book: Book, plan: Plan, now: float) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=18)
    grid.add_column(width=BAR_COLUMNS)
    grid.add_column(justify="right")
    for name, count, style in (
        ("produced", len(book.produced), "cyan"),
        ("accepted, rejected", book.settled_count, "green"),
    ):
        bar = ProgressBar(
            plan.record_count, count, width=BAR_COLUMNS, complete_style=style, finished_style=style
        )
        grid.add_row(name, bar, f"{count:,} of {plan.record_count:,}")
    grid.add_row("", Text(f"{book.rate(now):,.0f} records/s", style="dim"), "")
    return grid


def _members(book: Book) -> RenderableType:
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    table.add_column("member", min_width=8)
    table.add_column("polled", justify="right")
    table.add_column("holds", justify="right", min_width=5)
    for outcome, style in OUTCOME_STYLES.items():
        table.add_column(outcome.value, justify="right", style=style)
    table.add_column("redelivered", justify="right")
    for member, tally in book.tallies.items():
        table.add_row(member, *_cells(tally))
    return table


def _cells(tally: Tally) -> Iterator[str]:
    held = tally.delivered - tally.outcomes.total()
    ended = (tally.outcomes[outcome] for outcome in OUTCOME_STYLES)
    return (f"{count:,}" for count in (tally.delivered, held, *ended, tally.redelivered))


def _kproxies(fleet: FleetStatus) -> RenderableType:
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    table.add_column("kproxy", min_width=8)
    table.add_column("slots", justify="right", min_width=5)
    table.add_column("serves", min_width=len(GROUP))
    table.add_column("members behind it")
    server = fleet.server_of(GROUP)
    for kproxy in fleet.kproxies:
        slots = str(len(kproxy.slots)) if kproxy.is_up else "down"
        serves = Text(GROUP if kproxy.name == server else "", style="green")
        table.add_row(kproxy.name, slots, serves, ", ".join(fleet.members_behind(kproxy.name)))
    return table


def _troubles(book: Book, now: float) -> RenderableType:
    lines = [
        f"{member} sleeps on what it holds until the lock has expired: {max(0.0, until - now):.0f} s to go"
        for member, until in book.asleep_until.items()
    ]
    if book.outage is not None:
        lines.append(_outage(book.outage, now))
    return Text("\n".join(lines) or " ", style="magenta")


def _outage(outage: Outage, now: float) -> str:
    if outage.kind is OutageKind.RESTART:
        end = "" if outage.back_at is None else "; it is back"
        return f"{outage.kproxy} was {UPDATE} {now - outage.began_at:.0f} s ago{end}"
    ago = f"{outage.kproxy} was killed {now - outage.began_at:.0f} s ago with {in_hand(outage)}"
    if outage.first_accepted_at is None:
        return f"{ago} and starts again" if outage.first_position_after is None else f"{ago}"
    return f"{ago}; back after {outage.first_accepted_at - outage.began_at:.1f} s"
