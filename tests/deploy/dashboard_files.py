"""The dashboards of Grafana in deploy/grafana/: their panels, in the rows in which they stand."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.deploy.rule_files import DEPLOY

GRAFANA: Final = DEPLOY / "grafana"
DASHBOARDS: Final = tuple(sorted((GRAFANA / "dashboards").glob("*.json")))


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel, and the queries in it."""

    row: str
    title: str
    expressions: tuple[str, ...]
    place: tuple[int, int, int, int]
    """Column, line, width and height."""


def dashboard(path: Path) -> dict[str, Any]:
    """Return what stands in a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def panels(path: Path) -> Iterator[Panel]:
    """Find the panels of a dashboard from top to bottom, without the rows themselves."""
    row = ""
    for each in dashboard(path)["panels"]:
        if each["type"] == "row":
            row = each["title"]
            continue
        place = each["gridPos"]
        yield Panel(
            row,
            each["title"],
            tuple(target["expr"] for target in each["targets"]),
            (place["x"], place["y"], place["w"], place["h"]),
        )


def variables(path: Path) -> dict[str, str]:
    """Return what the variables of a dashboard are asked by: an expression each, or a kind of data source."""
    return {
        each["name"]: each["query"]["query"] if each["type"] == "query" else each["query"]
        for each in dashboard(path)["templating"]["list"]
    }


def all_panels() -> list[Panel]:
    """Return the panels of all dashboards."""
    return [panel for path in DASHBOARDS for panel in panels(path)]
