"""What a job is, what it is given, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from kproxy.errors import ExitCode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kproxy.jobs.sources.log_reader import BatchFunction, Gap, LogRange, LogReader


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job found.

    The names of `frame`'s columns are those that JSON and CSV show, and the titles of the table are made of them;
    nested values are shown as JSON. `extra` joins the closing summary. `plot` writes a PNG file to a path.
    """

    frame: "DataFrame"
    extra: Mapping[str, object] = field(default_factory=dict)
    exit_code: ExitCode = ExitCode.OK
    plot: Callable[[Path], None] | None = None


class RunJob(Protocol):
    """The function of a job: called with the values of the job's own options as keywords. Raises JobFailed."""

    def __call__(self, context: "JobContext", /, **options: object) -> JobResult:
        """Answer the question."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """A question to the log: its own options, and the function that answers it."""

    run: Callable[..., JobResult]
    options: Sequence[click.Parameter] = ()
    has_plot: bool = False
    """Whether `--plot` is offered; `JobResult.plot` is there then."""
    epilog: str = ""
    """Examples for the help text."""


class JobContext:
    """What a job works with. It keeps account of what is read, for the closing summary."""

    def __init__(self, spark: "SparkSession", reader: "LogReader", say: Callable[[str], None]) -> None:
        self.spark = spark
        self.reader = reader
        self.say = say
        """Prints a line for people, on standard error."""
        self.ranges_read: list[LogRange] = []
        self.gaps: list[Gap] = []
        self.summary: dict[str, object] = {}
        """What else was learned on the way: it joins the closing summary, before what the job says."""
        self._topic_names: Mapping[str, str] | None = None

    def report(self, gaps: "Sequence[Gap]") -> None:
        """Tell of records that are gone: at once on standard error, and in the closing summary."""
        for gap in gaps:
            lost = f"offsets {gap.first_offset}-{gap.end_offset - 1}"
            self.say(f"Warning: partition {gap.partition}: {lost} are missing: {gap.reason}")
        self.gaps += gaps

    def ranges(self, *, since_ms: int | None = None, until_ms: int | None = None) -> "list[LogRange]":
        """Return what the log holds from `since_ms` on and before `until_ms`, in log time; None is no bound."""
        reader = self.reader
        held = reader.ranges()
        first = {} if since_ms is None else reader.offsets_at(since_ms)
        end = {} if until_ms is None else reader.offsets_at(until_ms)
        return [
            part.within(
                first.get(part.partition, part.first_offset), end.get(part.partition, part.end_offset)
            )
            for part in held
        ]

    def topic_names(self) -> "Mapping[str, str]":
        """Return the names of consumed topics by their id in Kafka's text form. The log is asked once."""
        if self._topic_names is None:
            self._topic_names = self.reader.topic_names()
        return self._topic_names

    def records(
        self, ranges: "Sequence[LogRange] | None" = None, *, most_per_task: int | None = None
    ) -> "DataFrame":
        """Return the log records of `ranges`, of the whole log by default, as rows of RAW_SCHEMA."""
        asked = self._asked(self.ranges() if ranges is None else ranges)
        return self.reader.records(asked, most_per_task=most_per_task)

    def mapped(self, ranges: "Sequence[LogRange]", function: "BatchFunction", schema: str) -> "DataFrame":
        """Return what `function` makes of the records of each range, each in one task, as rows of `schema`."""
        return self.reader.mapped(self._asked(ranges), function, schema)

    def _asked(self, ranges: "Sequence[LogRange]") -> "list[LogRange]":
        """Return what of `ranges` there is to read, and prepare for so much of it."""
        from kproxy.jobs.spark_session import suit_shuffles

        asked = [part for part in ranges if part.length]
        self.ranges_read += asked
        suit_shuffles(self.spark, sum(part.length for part in asked))
        return asked

    def silver(self, *, since_ms: int | None = None, until_ms: int | None = None) -> "DataFrame":
        """Return rows of SILVER_SCHEMA from `since_ms` on and before `until_ms`, in log time; None is no bound."""
        from kproxy.jobs.history.silver import silver_of

        return silver_of(self, since_ms=since_ms, until_ms=until_ms)
