"""What a benchmark found, on paper: tables in Markdown, values in JSON, a picture, below `build/bench/`."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.tables import Table
from tests.real_kafka.paths import PROJECT_ROOT

RESULT_FOLDER: Final = PROJECT_ROOT / "build" / "bench"


@dataclass(frozen=True, slots=True)
class Result:
    """What a benchmark found."""

    name: str
    machine: Mapping[str, str]
    remarks: Sequence[str]
    tables: Sequence[Table]
    values: Mapping[str, Any]
    """Everything that was measured, ready for JSON."""
    draw: Callable[[Path], None] | None = None
    """Draws a picture of it into a PNG file, where one says more."""


def write_result(result: Result, folder: Path = RESULT_FOLDER) -> Sequence[Path]:
    """Write `NAME.md` and `NAME.json`, and `NAME.png` if there is something to draw; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown, values = folder / f"{result.name}.md", folder / f"{result.name}.json"
    markdown.write_text(_markdown(result))
    values.write_text(json.dumps({"machine": result.machine, **result.values}, indent=1) + "\n")
    if result.draw is None:
        return markdown, values
    drawn = folder / f"{result.name}.png"
    result.draw(drawn)
    return markdown, values, drawn


def _markdown(result: Result) -> str:
    machine = "; ".join(f"{what} {value}" for what, value in result.machine.items())
    parts = [machine, *result.remarks, *(table.markdown() for table in result.tables)]
    return "\n\n".join(part.strip() for part in parts) + "\n"
