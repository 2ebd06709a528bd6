"""Writes the result of a job, as a table, JSON, CSV or Parquet: all of it or nothing.

Everything is written aside first and put in place when it is whole. Rows pass through the driver one by one, but for
Parquet, which the executors write.
"""

import csv
import json
import os
import shutil
import sys
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, Any, Final, TypeAlias

from pyspark.sql import DataFrame, Observation, Row
from pyspark.sql import functions as sql

from kproxy.clients.tables import cell_text, table_lines
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.log_files import uri_of

Cells: TypeAlias = Mapping[str, Callable[[Mapping[str, Any]], object]]
"""By column, what a table shows of a row."""
_NO_CELLS: Final[Cells] = {}


@dataclass(frozen=True, slots=True)
class ResultWriter:
    """What `-o`, `--out` and `--no-headers` ask for. Without `path` it is standard output.

    `before_print` is called when all is there that goes to standard output, and nothing of it was printed yet.
    """

    form: str = "table"
    path: Path | None = None
    with_headers: bool = True
    before_print: Callable[[], None] = lambda: None

    def require_possible(self) -> None:
        """Check, before any work is done, that the result can be put where it is to go. Raises JobFailed."""
        if self.form == "parquet" and self.path is None:
            raise JobFailed("-o parquet needs a folder to write to: --out PATH", ExitCode.USAGE)
        if self.path is not None and self.path.exists():
            raise JobFailed(f"{self.path} is there already; give another --out", ExitCode.USAGE)
        if self.path is not None:
            require_writable(self.path)

    def write(self, frame: DataFrame, *, narrow: Sequence[str] = (), cells: Cells = _NO_CELLS) -> int:
        """Write the rows of `frame`; return how many there are. Of columns a table has the `narrow` ones, or all.

        A table shows what `cells` make of a row, in the columns that they name.
        """
        shown = narrow if self.form == "table" and narrow else frame.columns
        if self.form == "parquet":
            assert self.path is not None
            return write_parquet(frame, self.path)
        if self.path is None:
            with TemporaryFile("w+", encoding="utf-8", newline="") as spooled:
                count = self._write_text(frame, spooled, shown, cells)
                spooled.seek(0)
                self.before_print()
                _print(spooled)
            return count
        with written_aside(self.path) as aside, aside.open("w", encoding="utf-8", newline="") as file:
            return self._write_text(frame, file, shown, cells)

    def _write_text(self, frame: DataFrame, file: IO[str], shown: Sequence[str], cells: Cells) -> int:
        rows = (row.asDict(recursive=True) for row in frame.toLocalIterator(prefetchPartitions=True))
        match self.form:
            case "json":
                return _write_json(rows, file)
            case "csv":
                return _write_csv(frame.columns, rows, file, with_header=self.with_headers)
            case _:
                return write_table(shown, rows, file, cells, with_header=self.with_headers)


def _print(file: IO[str]) -> None:
    try:
        shutil.copyfileobj(file, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as failure:
        # What is left in its buffer, Python would try to write again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise JobFailed(f"standard output cannot be written: {failure.strerror}") from failure


def require_writable(path: Path) -> None:
    """Raise JobFailed when no file can be made at `path`, in the folder that is there or would be made for it."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        TemporaryFile(dir=folder).close()
    except OSError as failure:
        raise JobFailed(f"{path} cannot be written: {failure.strerror}") from failure


class written_aside:  # noqa: N801 - reads as the context manager that it is
    """Gives a name beside `path` to write to; moves it there at the end of the block, or removes it when that fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder: Path | None = None

    def __enter__(self) -> Path:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._folder = Path(mkdtemp(prefix=f".{self._path.name}.", dir=self._path.parent))
        except OSError as failure:
            raise JobFailed(f"{self._path} cannot be written: {failure.strerror}") from failure
        return self._folder / self._path.name

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        assert self._folder is not None
        if failure is None:
            (self._folder / self._path.name).replace(self._path)
        shutil.rmtree(self._folder, ignore_errors=True)


def write_parquet(frame: DataFrame, path: Path, *, by: Sequence[str] = ()) -> int:
    """Have the executors write `frame` to the new folder `path`, in folders named after `by`; return the row count."""
    counted = Observation()
    observed = frame.observe(counted, sql.count(sql.lit(1)).alias("rows"))
    with written_aside(path) as aside:
        observed.write.partitionBy(*by).parquet(uri_of(str(aside)))
    return int(counted.get["rows"])


def title_of(name: str) -> str:
    """Return the title of a column: `startOffset` is START-OFFSET."""
    words = "".join(f"-{letter}" if letter.isupper() else letter for letter in name)
    return words.replace("_", "-").upper()


def _write_json(rows: Iterable[dict[str, object]], file: IO[str]) -> int:
    count = 0
    file.write("[")
    for count, row in enumerate(rows, start=1):
        file.write(",\n" if count > 1 else "\n")
        json.dump(row, file, default=_json_value)
    file.write("\n]\n" if count else "]\n")
    return count


def _write_csv(
    names: Sequence[str], rows: Iterable[dict[str, object]], file: IO[str], *, with_header: bool
) -> int:
    writer = csv.writer(file, lineterminator="\n")
    if with_header:
        writer.writerow(names)
    count = 0
    for row in rows:
        writer.writerow([_plain(value) for value in row.values()])
        count += 1
    return count


def write_table(
    names: Sequence[str], rows: Iterable[dict[str, object]], file: IO[str], cells: Cells, *, with_header: bool
) -> int:
    """Write the columns `names` of rows, or what `cells` make of a row there; return how many rows there are."""
    shown = [[_cell(cells[name](row) if name in cells else row[name]) for name in names] for row in rows]
    titles = [title_of(name) for name in names]
    if shown or with_header:
        file.writelines(f"{line}\n" for line in table_lines(titles, shown, with_header=with_header))
    return len(shown)


def _plain(value: object) -> object:
    if isinstance(value, list | dict | Row):
        return json.dumps(value, default=_json_value, separators=(",", ":"))
    return _json_value(value) if isinstance(value, datetime | date | bytes | bytearray) else value


def _cell(value: object) -> str:
    if value == []:
        return cell_text(None)
    return cell_text(f"{value:.6g}" if isinstance(value, float) else _plain(value))


def _json_value(value: object) -> object:
    """Return what JSON has no word for."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return b64encode(value).decode()
    return str(value)
