"""The closing table, and the rules held against it. Fits 80 columns."""

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from tests.demo.book import Book
from tests.demo.ledger import Check, Outcome, Tally, tally
from tests.demo.view import OUTCOME_STYLES, mark

TITLE_COLUMNS: Final = 40
NUMBER_COLUMNS: Final = 9

OUTCOME_TITLES: Final = {
    Outcome.ACCEPTED: "accepted",
    Outcome.RELEASED: "released, then delivered again",
    Outcome.REJECTED: "rejected",
    Outcome.TIMED_OUT: "lock expired, delivered to another",
}
FAULT_TITLES: Final = {Outcome.FAILED: "acknowledgement failed", Outcome.HELD: "not acknowledged"}
"""Shown only where there are any: the sums do not add up then."""


def show_closing(console: Console, book: Book, checks: Sequence[Check]) -> None:
    """Write the table, each rule and whether it holds, and what acknowledgements failed with."""
    lines = [Text(), *_table(book), Text(), *(_line(console, check) for check in checks)]
    lines += [
        Text(f"    {count:,} acknowledgements were answered with {error}")
        for error, count in book.errors.items()
    ]
    for line in lines:
        console.print(line, soft_wrap=True)


def _table(book: Book) -> Iterable[Text]:
    by_member = [tally(one for one in book.deliveries if one.member == member) for member in book.members]
    everybody = tally(book.deliveries)
    columns = [*by_member, everybody]
    yield _row("", [*book.members, "together"], style="bold")
    yield _row("produced", ["" for _ in by_member] + [f"{len(book.produced):,}"])
    yield _row("delivered", [f"{column.delivered:,}" for column in columns])
    yield from _outcome_rows(columns)
    yield _row("of all delivered, not the first time", [f"{column.redelivered:,}" for column in columns])


def _outcome_rows(columns: Sequence[Tally]) -> Iterable[Text]:
    *_, everybody = columns
    faults = {outcome: title for outcome, title in FAULT_TITLES.items() if everybody.outcomes[outcome]}
    for outcome, title in (OUTCOME_TITLES | faults).items():
        counts = [f"{column.outcomes[outcome]:,}" for column in columns]
        yield _row(f"  {title}", counts, style=OUTCOME_STYLES.get(outcome, "bold red"))


def _row(title: str, cells: Sequence[str], *, style: str = "") -> Text:
    numbers = "".join(f"{cell:>{NUMBER_COLUMNS}}" for cell in cells)
    return Text(f"  {title:<{TITLE_COLUMNS}}{numbers}", style=style)


def _line(console: Console, check: Check) -> Text:
    evidence = f": {check.evidence}" if check.evidence else ""
    return Text.assemble(mark(console, is_good=check.holds), check.claim, (evidence, "red"))
