"""Plain columns for people: no frames, no colours, so that `awk` reads them as well."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

_GAP = "  "


def table_lines(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, with_header: bool = True
) -> Iterator[str]:
    """Yield a header and the rows, each column as wide as its widest cell; the last one is not padded."""
    shown = [header, *rows] if with_header else list(rows)
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        yield _line(row, widths)


def paged_table_lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, with_header: bool = True, page: int = 1000
) -> Iterator[str]:
    """Yield the same of rows without end, holding a `page` of them; columns only get wider from page to page."""
    remaining = iter(rows)
    widths = [len(title) if with_header else 0 for title in header]
    shown = [header] if with_header else []
    while shown := [*shown, *islice(remaining, page)]:
        cells = zip(*shown, strict=True)
        widths = [max(width, *map(len, column)) for width, column in zip(widths, cells, strict=True)]
        yield from (_line(row, widths) for row in shown)
        shown = []


def cell_text(value: object) -> str:
    """Return what a cell shows: `-` for nothing, yes or no, and no character that a terminal would obey."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return "-"
    text = str(value)
    return text if text.isprintable() else ascii(text)[1:-1]


def printable(text: str) -> str:
    """Return lines of text with escapes in place of every other character that a terminal would obey."""
    return "".join(each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
