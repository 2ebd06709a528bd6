"""The closing table, and the rules held against it. Fits 80 columns."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from tests.demo.book import Book
from tests.demo.ledger import BY_THE_KILL, Check, CutOffs, Outcome, Tally, tallies_of, together
from tests.demo.view import OUTCOME_STYLES, mark

TITLE_COLUMNS: Final = 40
NUMBER_COLUMNS: Final = 9
CHECK_COLUMNS: Final = 76
CHECK_INDENT: Final = "    "

OUTCOME_TITLES: Final = {
    Outcome.ACCEPTED: "accepted",
    Outcome.RELEASED: "released, then delivered again",
    Outcome.REJECTED: "rejected",
    Outcome.TIMED_OUT: "lock expired, delivered to another",
}
RARE_TITLES: Final = {
    Outcome.FAILED: "acknowledgement failed",
    Outcome.HELD: "not acknowledged",
}
"""Shown only where there are any, after those that were cut off; with one of these the sums do not add up."""


def show_closing(
    console: Console, book: Book, checks: Sequence[Check], cut_offs: CutOffs = BY_THE_KILL
) -> None:
    """Write the table, each rule and whether it holds, and what acknowledgements failed with."""
    for line in (Text(), *_table(book, cut_offs), Text()):
        console.print(line, soft_wrap=True)
    show_checks(console, checks)
    for error, count in book.errors.items():
        failed = Text(f"    {count:,} acknowledgements were answered with {error}")
        console.print(failed, soft_wrap=True)


def show_checks(console: Console, checks: Iterable[Check]) -> None:
    """Write each rule and whether it holds."""
    for check in checks:
        console.print(_line(console, check), soft_wrap=True)


def _table(book: Book, cut_offs: CutOffs) -> Iterable[Text]:
    tallies = tallies_of(book.deliveries)
    by_member = [tallies.get(member, Tally()) for member in book.members]
    columns = [*by_member, together(by_member)]
    yield _row("", [*book.members, "together"], style="bold")
    yield _row("produced", ["" for _ in by_member] + [f"{len(book.produced):,}"])
    yield _row("delivered", [f"{column.delivered:,}" for column in columns])
    yield from _outcome_rows(columns, cut_offs)
    yield _row("of all delivered, not the first time", [f"{column.redelivered:,}" for column in columns])


def _outcome_rows(columns: Sequence[Tally], cut_offs: CutOffs) -> Iterable[Text]:
    *_, everybody = columns
    titles = {Outcome.CUT_OFF: cut_offs.title} | RARE_TITLES
    rare = {outcome: title for outcome, title in titles.items() if everybody.outcomes[outcome]}
    for outcome, title in (OUTCOME_TITLES | rare).items():
        counts = [f"{column.outcomes[outcome]:,}" for column in columns]
        yield _row(f"  {title}", counts, style=OUTCOME_STYLES.get(outcome, "bold red"))


def _row(title: str, cells: Sequence[str], *, style: str = "") -> Text:
    numbers = "".join(f"{cell:>{NUMBER_COLUMNS}}" for cell in cells)
    return Text(f"  {title:<{TITLE_COLUMNS}}{numbers}", style=style)


def _line(console: Console, check: Check) -> Text:
    evidence = f": {check.evidence}" if check.evidence else ""
    claim = textwrap.fill(check.claim, CHECK_COLUMNS, subsequent_indent=CHECK_INDENT)
    return Text.assemble(mark(console, is_good=check.holds), claim, (evidence, "red"))
