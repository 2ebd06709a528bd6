"""What a job is, what it is given, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.run_report import RunReport

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kproxy.clients.log_ranges import LogRange
    from kproxy.jobs.history.log_history import History
    from kproxy.jobs.sources.log_reader import ClusterLog, LogReader
    from kproxy.jobs.sources.tracked_log import TrackedLog


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job.

    The names of `frame`'s columns are those that JSON and CSV show, and the titles of the table are made of them;
    nested values are shown as JSON. `extra` joins the closing summary. `plot` writes a PNG file to a path. `narrow` are
    the columns of a table that is not wide, in their order; without any it has all. `cells` say, by column, what a
    table shows of a row there instead of the value: JSON, CSV and Parquet have the values.
    """

    frame: "DataFrame"
    extra: Mapping[str, object] = field(default_factory=dict)
    exit_code: ExitCode = ExitCode.OK
    plot: Callable[[Path], None] | None = None
    narrow: Sequence[str] = ()
    cells: Mapping[str, Callable[[Mapping[str, Any]], object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A question to the log: its own options, and the function that answers it.

    `run` is called with a JobContext and the values of the options as keywords. It raises JobFailed.
    """

    run: Callable[..., JobResult]
    options: Sequence[click.Parameter] = ()
    has_plot: bool = False
    """Whether `--plot` is offered; `JobResult.plot` is there then."""
    epilog: str = ""
    """Examples for the help text."""


@dataclass(frozen=True, slots=True)
class JobSource:
    """What a job reads: a history, and the log and the cluster behind it where there are any."""

    history: "History"
    log: "TrackedLog | None" = None
    """None for exported history: there are no log records in it."""
    cluster: "ClusterLog | None" = None
    """None for files: they do not grow, and say nothing of the consumed topics."""

    @staticmethod
    def of_log(
        spark: "SparkSession", reader: "LogReader", *, cluster: "ClusterLog | None" = None
    ) -> "JobSource":
        """Return the source that decodes its history from the records of a log."""
        from kproxy.jobs.history.log_history import LogHistory
        from kproxy.jobs.sources.tracked_log import TrackedLog

        log = TrackedLog(spark, reader)
        return JobSource(LogHistory(log), log, cluster)

    @staticmethod
    def of_cluster(spark: "SparkSession", reader: "ClusterLog") -> "JobSource":
        """Return the source that reads a topic of a cluster."""
        return JobSource.of_log(spark, reader, cluster=reader)


class JobContext:
    """What a job works with: Spark, what it reads, and the report of its run."""

    def __init__(self, spark: "SparkSession", source: JobSource, say: Callable[[str], None]) -> None:
        self.spark = spark
        self.history = source.history
        self.cluster = source.cluster
        self.report = RunReport(say)
        self._log = source.log

    @property
    def log(self) -> "TrackedLog":
        """The log. Raises JobFailed: USAGE when there are no log records in what is read."""
        if self._log is None:
            raise JobFailed(
                f"{self.history.name} has no log records, and this job needs them: "
                "kproxy replay export --records, or the topic",
                ExitCode.USAGE,
            )
        return self._log

    @property
    def ranges_read(self) -> "Sequence[LogRange]":
        """The ranges of log records that were read so far; none of exported history."""
        return self._log.ranges_read if self._log is not None else []
