"""The window of a share-partition as a strip of characters, from its start offset to its end offset. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.clients.admin_port import Item

ACQUIRED, AVAILABLE, ACKNOWLEDGED = "Acquired", "Available", "Acknowledged"
OVERDUE: Final = "Overdue"
"""Acquired, and the lock has ended: whoever fetches next gets it."""
MOST_TRIES_SHOWN: Final = 9

GLYPHS: Final[Mapping[str, str]] = {
    OVERDUE: "!",
    ACQUIRED: "█",
    AVAILABLE: "░",
    "Archiving": "~",
    "Archived": "x",
    ACKNOWLEDGED: "─",
}
"""By what is shown of a cell that has several: what somebody waits for hides what is done with."""
PLAIN_GLYPHS: Final[Mapping[str, str]] = {
    **GLYPHS,
    ACQUIRED: "#",
    AVAILABLE: ".",
    ACKNOWLEDGED: "-",
}
"""For terminals that have nothing but ASCII."""
COLOURS: Final[Mapping[str, str]] = {
    OVERDUE: "red",
    ACQUIRED: "yellow",
    AVAILABLE: "blue",
    "Archived": "magenta",
    "Archiving": "magenta",
    ACKNOWLEDGED: "green",
}
"""Of a terminal, beside the characters and never instead of them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Some offsets in a row: what is shown of them, and how often the one was tried that was tried most."""

    state: str
    delivery_count: int


@dataclass(frozen=True, slots=True)
class Strip:
    """Rows of cells of `offsets_per_cell` offsets each; `first_offsets` are those at the beginning of each row."""

    rows: Sequence[Sequence[Cell]]
    first_offsets: Sequence[int]
    offsets_per_cell: int
    counts: Mapping[str, int]
    """Offsets by what is shown of them alone."""


def strip_of(runs: Sequence[Item], *, width: int, most_rows: int) -> Strip:
    """Return the strip of runs that follow each other without a gap, in at most `most_rows` rows of `width` cells."""
    if not runs:
        return Strip((), (), 1, {})
    start, end = runs[0]["firstOffset"], runs[-1]["lastOffset"] + 1
    per_cell = max(1, -(-(end - start) // (width * most_rows)))
    cells = _cells(runs, start, per_cell)
    places = range(0, len(cells), width)
    counts: dict[str, int] = {}
    for run in runs:
        state = _shown(run)
        counts[state] = counts.get(state, 0) + run["lastOffset"] + 1 - run["firstOffset"]
    return Strip(
        [cells[place : place + width] for place in places],
        [start + place * per_cell for place in places],
        per_cell,
        {state: counts[state] for state in GLYPHS if state in counts},
    )


def _cells(runs: Sequence[Item], start: int, per_cell: int) -> list[Cell]:
    """Return a cell for every `per_cell` offsets; time follows runs and cells, not offsets."""
    ranks = {state: rank for rank, state in enumerate(GLYPHS)}
    count = -(-(runs[-1]["lastOffset"] + 1 - start) // per_cell)
    states, tries = [ACKNOWLEDGED] * count, [0] * count
    for run in runs:
        state = _shown(run)
        for place in range(
            (run["firstOffset"] - start) // per_cell, (run["lastOffset"] - start) // per_cell + 1
        ):
            states[place] = min(states[place], state, key=ranks.__getitem__)
            tries[place] = max(tries[place], run["deliveryCount"])
    return [Cell(state, count) for state, count in zip(states, tries, strict=True)]


def _shown(run: Item) -> str:
    return OVERDUE if run["state"] == ACQUIRED and run["lockRemainingMs"] == 0 else str(run["state"])


def tries_glyph(cell: Cell) -> str:
    """Return what stands beneath a cell: how often the one was tried that somebody waits for and was tried most."""
    is_again = cell.delivery_count > 1 and cell.state in {OVERDUE, ACQUIRED, AVAILABLE}
    return (str(cell.delivery_count) if cell.delivery_count <= MOST_TRIES_SHOWN else "+") if is_again else " "
