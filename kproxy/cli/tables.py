"""Plain columns for people: no frames, no colours, so that `awk` reads them as well."""

from collections.abc import Iterator, Sequence

_GAP = "  "


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a header and the rows, each column as wide as its widest cell; the last one is not padded."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        yield _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
