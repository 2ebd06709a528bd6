"""`kproxy replay export`: history as Parquet, so that it outlives the topic.

From a cluster it is incremental: what was exported is noted in a checkpoint, and the next run goes on from there. A
micro-batch that is run again, because a run was broken off, replaces its own files. From files it is one piece.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import click
import pyarrow as pa
from pyarrow import fs
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.folds.carried_folds import CarriedFolds
from kproxy.jobs.folds.folding import log_partitions
from kproxy.jobs.history.selection import is_lost, report_losses
from kproxy.jobs.history.silver import (
    SILVER_SCHEMA,
    SilverRow,
    SilverWriter,
    batch_of_silver,
    missing_row,
    silver_rows,
)
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.result_writer import write_parquet
from kproxy.jobs.sources.log_files import filesystem_of, pattern_of, uri_of
from kproxy.jobs.sources.log_reader import Gap, LogRange, gaps_below, ranges_between
from kproxy.jobs.sources.raw_records import records_of
from kproxy.statelog.state_log_fold import FoldImage
from kproxy.wording import counted

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_BY_TIME: Final = ("dt", "hour")
_EXPORTED_SCHEMA: Final = f"{SILVER_SCHEMA}, dt date, hour int"
"""Given to who reads an export: one without rows has no file that says so."""
_BEGINNING: Final = 0
"""Where a log partition begins that was added later."""
_ANY_BATCH: Final = 2**63 - 1
"""Later than every micro-batch."""


@runtime_checkable
class StreamingLog(Protocol):
    """A log that grows."""

    def stream(self, *, most_per_batch: int | None, on_gap: str) -> DataFrame:
        """Return the log from its beginning, as rows of RAW_SCHEMA, each log partition in order and in one task."""
        ...


@dataclass(slots=True)
class Exported:
    """What the micro-batches of one run wrote."""

    batches: list[int] = field(default_factory=list)
    row_count: int = 0
    lost_count: int = 0
    """How many of the rows stand for records that are gone or of no use."""


def run(  # noqa: PLR0913 - the options of the command line
    context: JobContext,
    *,
    to: str,
    records: bool,
    checkpoint: str | None,
    continuous: float | None,
    max_records_per_batch: int | None,
    on_gap: str,
) -> JobResult:
    """Write the history to `to`."""
    if records:
        return _export_records(context, to)
    if not isinstance(context.reader, StreamingLog):
        return _export_files(context, to)
    noted = checkpoint or f"{to.rstrip('/')}/_checkpoint"
    require_continuation(to, noted)
    require_same_log(noted, context.reader.identity)
    begun = begun_at(noted, context.reader.ranges())
    exporter = Exporter(context, to, noted, begun, is_failing_on_gap=on_gap == "fail")
    exporter.export(context.reader, every_s=continuous, most_per_batch=max_records_per_batch)
    exported = exporter.exported
    return JobResult(exporter.told(), {"rows": exported.row_count, "batches": len(exported.batches)})


def _export_records(context: JobContext, to: str) -> JobResult:
    count = write_new(context.records(), to)
    told = context.spark.createDataFrame([(to, count)], "path string, records bigint")
    return JobResult(told, {"rows": count})


def _export_files(context: JobContext, to: str) -> JobResult:
    count = write_new(by_time(silver_rows(context.records())), to, by=_BY_TIME)
    written = written_at(context, to)
    report_losses(context, written.where(is_lost()))
    return JobResult(rows_by_time(written), {"rows": count})


def write_new(frame: DataFrame, to: str, *, by: Sequence[str] = ()) -> int:
    """Have the executors write `frame` to a place where nothing is yet; return the row count.

    All of it stands there in the end, or nothing: on a file system by a move, elsewhere by Spark's own commit. Raises
    JobFailed.
    """
    system, folder = filesystem_of(to)
    if system.get_file_info(folder).type is not fs.FileType.NotFound:
        raise JobFailed(f"{to} is there already; give another --to", ExitCode.USAGE)
    if isinstance(system, fs.LocalFileSystem):
        return write_parquet(frame, Path(folder), by=by)
    counted = Observation()
    frame.observe(counted, sql.count(sql.lit(1)).alias("rows")).write.partitionBy(*by).parquet(to)
    return int(counted.get["rows"])


def require_continuation(to: str, checkpoint: str) -> None:
    """Raise JobFailed when there is an export at `to` but not the checkpoint that says how far it is."""
    is_begun = not _is_empty(to)
    if is_begun and _is_empty(checkpoint):
        raise JobFailed(
            f"{to} holds an export already, and its checkpoint is not at {checkpoint}: rows would stand there twice; "
            "give its --checkpoint, or another --to",
            ExitCode.USAGE,
        )


def require_same_log(checkpoint: str, identity: str) -> None:
    """Note in a new checkpoint which log it is of. Raises JobFailed when one is of another: offsets mean nothing there.

    A topic that was deleted and created again is another log.
    """
    system, folder = filesystem_of(checkpoint)
    note = f"{folder}/log"
    if system.get_file_info(note).type is fs.FileType.NotFound:
        system.create_dir(folder, recursive=True)
        with system.open_output_stream(note) as file:
            file.write(identity.encode())
        return
    with system.open_input_file(note) as file:
        noted = file.read().decode()
    if noted != identity:
        raise JobFailed(
            f"the export at {checkpoint} is of another log: of {noted}, and this is {identity}; give another --to",
            ExitCode.USAGE,
        )


def begun_at(checkpoint: str, held: Sequence[LogRange]) -> Mapping[int, int]:
    """Return the offset at which the export of each log partition began: what comes later belongs to it.

    A new checkpoint begins where the log, which has `held`, does now. Partitions that are not in it were added later.
    """
    system, folder = filesystem_of(checkpoint)
    note = f"{folder}/begun"
    if system.get_file_info(note).type is fs.FileType.NotFound:
        begun = {part.partition: part.first_offset for part in held}
        with system.open_output_stream(note) as file:
            file.write(json.dumps(begun).encode())
        return begun
    with system.open_input_file(note) as file:
        return {int(number): offset for number, offset in json.loads(file.read()).items()}


def _is_empty(place: str) -> bool:
    system, folder = filesystem_of(place)
    return not system.get_file_info(fs.FileSelector(folder, allow_not_found=True))


def by_time(rows: DataFrame) -> DataFrame:
    """Return silver rows with the columns that their folders are named after: date and hour of the log, in UTC."""
    moment = sql.timestamp_millis("log_ts_ms")
    return rows.withColumn("dt", sql.date_format(moment, "yyyy-MM-dd")).withColumn("hour", sql.hour(moment))


def written_at(context: JobContext, to: str) -> DataFrame:
    """Return the rows that stand in the folders at `to`, which may be none."""
    return context.spark.read.schema(_EXPORTED_SCHEMA).parquet(pattern_of(to))


def rows_by_time(rows: DataFrame) -> DataFrame:
    """Return how many rows there are of each date and hour."""
    return rows.groupBy(*_BY_TIME).agg(sql.count("*").alias("rows")).orderBy(*_BY_TIME)


class Exporter:
    """Writes a stream of log records as silver rows, micro-batch by micro-batch.

    `begun` is what `begun_at` says of the checkpoint.
    """

    def __init__(
        self,
        context: JobContext,
        to: str,
        checkpoint: str,
        begun: Mapping[int, int],
        *,
        is_failing_on_gap: bool,
    ) -> None:
        self._context = context
        self._to = uri_of(to)
        self._checkpoint = uri_of(checkpoint)
        self._begun = begun
        self._is_failing_on_gap = is_failing_on_gap
        self.exported = Exported()

    def export(self, log: StreamingLog, *, every_s: float | None, most_per_batch: int | None) -> None:
        """Export what there is now, or with `every_s` go on until Ctrl-C; tell the context what was read, and what not.

        Raises JobFailed.
        """
        held = self._context.reader.ranges()
        next_offsets = self._next_offsets(held)
        self._require_no_gap(gaps_below(held, next_offsets))
        on_gap = "fail" if self._is_failing_on_gap else "report"
        self._run(log.stream(most_per_batch=most_per_batch, on_gap=on_gap), every_s=every_s)
        held_now = self._context.reader.ranges()
        reached = self._next_offsets(held_now)
        self._context.ranges_read += ranges_between(next_offsets, reached, held)
        self._report(gaps_below(held_now, reached))

    def _report(self, gaps: Sequence[Gap]) -> None:
        """Tell of what the rows stand for that is gone or of no use, and of `gaps`, which have no row yet."""
        self._context.summary["corrupt"] = 0
        if self.exported.lost_count:
            report_losses(self._context, self._written().where(is_lost()))
        self._context.report(gaps)

    def _require_no_gap(self, gaps: Sequence[Gap]) -> None:
        """Raise JobFailed when records are gone that would be read next, unless that is to be reported only."""
        for gap in gaps if self._is_failing_on_gap else ():
            raise JobFailed(
                f"partition {gap.partition}, offsets {gap.first_offset}-{gap.end_offset - 1} are missing: "
                f"{gap.reason}; --on-gap report goes on without them",
                ExitCode.NOT_FOUND,
            )

    def _next_offsets(self, held: Sequence[LogRange]) -> dict[int, int]:
        """Return which offset each log partition is to be read from next, by the folds of the last micro-batches."""
        carried = CarriedFolds(f"{self._checkpoint}/folds")
        return {
            part.partition: expected_after(
                carried.before(_ANY_BATCH, part.partition), part.partition, self._begun
            )
            for part in held
        }

    def _run(self, stream: DataFrame, *, every_s: float | None) -> None:
        writer = stream.writeStream.foreachBatch(self.write_batch)
        writer = writer.option("checkpointLocation", f"{self._checkpoint}/stream").queryName("export")
        if every_s is None:
            query = writer.trigger(availableNow=True).start()
        else:
            query = writer.trigger(processingTime=f"{every_s} seconds").start()
        try:
            _await(query)
        except StreamingQueryException:
            # Spark's own source says of records that were deleted under its hands neither which nor what to do.
            held = self._context.reader.ranges()
            self._require_no_gap(gaps_below(held, self._next_offsets(held)))
            raise

    def write_batch(self, records: DataFrame, batch: int) -> None:
        """Write the rows of a micro-batch; again if need be, with the same outcome."""
        carried = CarriedFolds(f"{self._checkpoint}/folds")
        silver = partial(silver_of_batch, carried=carried, batch=batch, begun=self._begun)
        counted = Observation()
        observed = by_time(records.mapInArrow(silver, SILVER_SCHEMA)).observe(
            counted,
            sql.count(sql.lit(1)).alias("rows"),
            sql.count(sql.when(is_lost(), 1)).alias("lost"),
        )
        (
            observed.withColumn("batch", sql.lit(batch))
            .write.mode("overwrite")
            .option("partitionOverwriteMode", "dynamic")
            .partitionBy(*_BY_TIME, "batch")
            .parquet(self._to)
        )
        self._note(batch, counted.get)

    def _note(self, batch: int, counts: Mapping[str, int]) -> None:
        self.exported.batches.append(batch)
        self.exported.row_count += counts["rows"]
        self.exported.lost_count += counts["lost"]
        self._context.say(f"Exported {counted(self.exported.row_count, 'row')}")

    def _written(self) -> DataFrame:
        """Return the rows that this run wrote."""
        batches = self.exported.batches
        rows = self._context.spark.read.schema(f"{_EXPORTED_SCHEMA}, batch bigint")
        return rows.parquet(pattern_of(self._to)).where(sql.col("batch").isin(batches))

    def told(self) -> DataFrame:
        """Return how many rows this run wrote, by date and hour."""
        if not self.exported.batches:
            return self._context.spark.createDataFrame([], "dt date, hour int, rows bigint")
        return rows_by_time(self._written())


def _await(query: "StreamingQuery") -> None:
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()


def silver_of_batch(
    batches: Iterator[pa.RecordBatch], *, carried: CarriedFolds, batch: int, begun: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the silver rows of what one task reads of a micro-batch, and keep its folds for the next one."""
    with told_to_driver():
        for number, found in log_partitions(batches):
            image = carried.before(batch, number)
            writer = SilverWriter.after(number, image)
            expected_offset: int | None = expected_after(image, number, begun)
            for records in found:
                yield batch_of_silver([*_missing(records, expected_offset), *_rows_of(records, writer)])
                expected_offset = None
            carried.write(batch, number, writer.fold)


def expected_after(image: FoldImage | None, log_partition: int, begun: Mapping[int, int]) -> int:
    """Return the offset that comes next: after the fold, or where the export of the log partition began."""
    return begun.get(log_partition, _BEGINNING) if image is None else image.applied_offset + 1


def _missing(records: pa.RecordBatch, expected_offset: int | None) -> Iterator[SilverRow]:
    """Yield the row for what is gone between the last micro-batch and this one, if that is to be looked at."""
    place = ("log_partition", "log_offset", "timestamp_ms")
    number, first, timestamp_ms = (records.column(name)[0].as_py() for name in place)
    if expected_offset is not None and first > expected_offset:
        yield missing_row(number, expected_offset, first, timestamp_ms)


def _rows_of(records: pa.RecordBatch, writer: SilverWriter) -> Iterator[SilverRow]:
    for _, record in records_of(records):
        yield from writer.rows(record)


JOB: Final = Job(
    run=run,
    options=(
        click.Option(["--to"], required=True, metavar="PATH", help="The folder, or URI, to write to."),
        click.Option(
            ["--records"], is_flag=True, help="The records as they are, to be read again with --files."
        ),
        click.Option(
            ["--checkpoint"],
            metavar="PATH",
            help="Where it is noted how far the export is. Default: in the folder.",
        ),
        click.Option(
            ["--continuous"],
            type=click.FloatRange(min=0.1),
            metavar="SECONDS",
            help="Go on until Ctrl-C, with a micro-batch every so often.",
        ),
        click.Option(
            ["--max-records-per-batch"],
            type=click.IntRange(min=1),
            help="How many records a micro-batch reads at most.",
        ),
        click.Option(
            ["--on-gap"],
            type=click.Choice(["fail", "report"]),
            default="fail",
            show_default=True,
            help="What to do about records that were deleted before they were exported.",
        ),
    ),
    epilog="""Examples:

\b
  kproxy replay export -b localhost:9092 --to history
  kproxy replay export -b localhost:9092 --to history --continuous 30
  kproxy replay export --files dump.jsonl --to records --records

The folders are dt=YYYY-MM-DD/hour=H by log time in UTC. Records that are missing have a row of their own.
""",
)
"""The job."""
