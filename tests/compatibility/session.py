"""Runs of a test session: each cluster's clients are run once, when a test first asks for a cell of its column."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.compatibility.backings import Backing
from tests.compatibility.matrix import MATRIX_FILE, matrix
from tests.compatibility.results import Result
from tests.real_kafka.child import Child

RUN_MODULE: Final = "tests.compatibility.run"
RUN_TIMEOUT_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Column:
    """All results of one cluster, and how the run ended."""

    results: tuple[Result, ...]
    exit_status: int
    told: str
    """The end of what the run said to a person."""


class Columns:
    """The columns that were run so far; `of` runs one if need be. The matrix file is written after each."""

    def __init__(self) -> None:
        self._columns: dict[Backing, Column] = {}

    def of(self, backing: Backing) -> Column:
        """The results on this cluster."""
        if backing not in self._columns:
            self._columns[backing] = _run(backing)
            self._write_matrix(MATRIX_FILE)
        return self._columns[backing]

    def _write_matrix(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(matrix(result for column in self._columns.values() for result in column.results))


def _run(backing: Backing) -> Column:
    with Child(f"run on {backing.label}", [sys.executable, "-m", RUN_MODULE, backing.label]) as run:
        lines = run.remaining_lines(timeout_seconds=RUN_TIMEOUT_SECONDS)
        status = run.wait(timeout_seconds=RUN_TIMEOUT_SECONDS)
        told = run.errors()[-4000:]
    return Column(tuple(Result.from_line(line) for line in lines), status, told)
