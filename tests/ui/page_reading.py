"""What a page of the web view shows: cells of tables, colours of pixels; and what the API says of it."""

import json
import math
from typing import Any, Final
from urllib.request import urlopen

from tests.ui.stuck_groups import StuckGroups

COLOURS: Final = {
    "Overdue": (213, 94, 0),
    "Acquired": (230, 159, 0),
    "Available": (86, 180, 233),
    "Archived": (204, 121, 167),
    "Acknowledged": (0, 158, 115),
}
"""Okabe and Ito's."""
SURFACES: Final = {"light": (255, 255, 255), "dark": (26, 30, 34)}
LIMIT: Final = 5


def answer(groups: StuckGroups, path: str) -> list[dict[str, Any]]:
    with urlopen(f"http://127.0.0.1:{groups.port}/api/v1/{path}", timeout=10) as response:
        items = json.load(response)["items"]
    assert isinstance(items, list)
    return items


def cells_of(page: Any, table: int = 0) -> list[list[str]]:
    """The texts of a table, without the spaces between thousands."""
    script = "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.innerText))"
    rows = page.locator(".listing table").nth(table).evaluate(script)
    return [[cell.replace("\u202f", "") for cell in row] for row in rows]


def mixed(state: str, deliveries: int, scheme: str) -> tuple[int, ...]:
    share = 0.5 + 0.5 * (deliveries - 1) / (LIMIT - 1)
    return tuple(
        math.floor(under + (over - under) * share + 0.5)
        for over, under in zip(COLOURS[state], SURFACES[scheme], strict=True)
    )


def pixels(page: Any, offset: int, first_offset: int) -> list[tuple[int, ...]]:
    """The colours within the cell of an offset in the first strip, where every cell is one offset."""
    script = """([offset, firstOffset]) => {
      const canvas = document.querySelector("canvas.strip");
      const context = canvas.getContext("2d");
      context.font = "11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
      const label = Math.ceil(context.measureText("760").width) + 8;
      const width = canvas.clientWidth - label;
      const cell = 5, perRow = Math.floor(width / cell), place = offset - firstOffset;
      const data = context.getImageData(
        label + (place % perRow) * cell, Math.floor(place / perRow) * 20, cell - 1, 16).data;
      const found = [];
      for (let at = 0; at < data.length; at += 4) found.push([data[at], data[at + 1], data[at + 2]]);
      return found;
    }"""
    return [tuple(each) for each in page.evaluate(script, [offset, first_offset])]
