"""Tables that are written twice: with rich for a person, in Markdown for a document."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import rich.box
import rich.table

from tests.benchmarks.bars import Bar
from tests.benchmarks.comparison import Series, Spread

NOTHING: Final = "-"

RatioPair: TypeAlias = tuple[str, str]
"""An arm, and the arm that it is divided by."""


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column heads, and rows of as many cells."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table in Markdown, its first column to the left and the others to the right."""
        lines = [self.heads, ["---", *("---:" for _ in self.heads[1:])], *self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"**{self.title}**\n\n{body}\n"

    def for_terminal(self) -> rich.table.Table:
        """The table for a rich console."""
        table = rich.table.Table(title=self.title, title_justify="left", box=rich.box.SIMPLE_HEAD)
        for number, head in enumerate(self.heads):
            table.add_column(head, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*row)
        return table


def comparison_table(
    title: str, series: Sequence[tuple[str, Series]], *, arms: Sequence[str], ratios: Sequence[RatioPair]
) -> Table:
    """One row per series under its name: the median of each arm, then ratios with their range over the rounds."""
    heads = ["", *arms, *(f"{arm} / {other}" for arm, other in ratios)]
    rows = [[name, *_medians(each, arms), *_ratios(each, ratios)] for name, each in series]
    return Table(title, heads, rows)


def bar_table(bars: Sequence[Bar]) -> Table:
    """Which bars are reached."""
    heads = ["bar", "limit", "measured", ""]
    rows = [
        [
            bar.title,
            f"{bar.side.value} {bar.limit:g}{bar.unit}",
            _with_range(bar.reached),
            "met" if bar.is_met else "MISSED",
        ]
        for bar in bars
    ]
    return Table("Bars", heads, rows)


def _medians(series: Series, arms: Sequence[str]) -> list[str]:
    written = series.quantity.written
    return [written(series.spread(arm).median) if series.has(arm) else NOTHING for arm in arms]


def _ratios(series: Series, ratios: Sequence[RatioPair]) -> list[str]:
    return [_ratio(series, arm, other) for arm, other in ratios]


def _ratio(series: Series, arm: str, other: str) -> str:
    if not series.has(arm) or not series.has(other):
        return NOTHING
    # A difference that is nothing, or less, within the noise of a round has no ratio.
    if min(series.values(other)) <= 0:
        return NOTHING
    return _with_range(series.ratio(arm, other))


def _with_range(spread: Spread) -> str:
    return f"{spread.median:.2f} [{spread.lowest:.2f}, {spread.highest:.2f}]"
