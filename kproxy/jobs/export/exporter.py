"""The streaming query of an export: one micro-batch of the log after another, as silver rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.export.exported_files import BY_TIME, by_time, rows_by_time, written_at
from kproxy.jobs.export.micro_batches import expected_after, silver_of_batch
from kproxy.jobs.folds.carried_folds import CarriedFolds
from kproxy.jobs.history.selection import is_lost, report_losses
from kproxy.jobs.history.silver import SILVER_SCHEMA
from kproxy.jobs.job import JobContext
from kproxy.jobs.sources.log_files import uri_of
from kproxy.jobs.sources.log_reader import ClusterLog, Gap, OnGap, gaps_below, ranges_between, require_no_gap
from kproxy.wording import counted

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_ANY_BATCH: Final = 2**63 - 1
"""Later than every micro-batch."""


@dataclass(slots=True)
class Exported:
    """What the micro-batches of one run wrote."""

    batches: list[int] = field(default_factory=list)
    row_count: int = 0
    lost_count: int = 0
    """How many of the rows stand for records that are gone or of no use."""


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
        on_gap: OnGap,
    ) -> None:
        self._context = context
        self._to = uri_of(to)
        self._checkpoint = uri_of(checkpoint)
        self._folds: Final = CarriedFolds(f"{self._checkpoint}/folds")
        self._begun = begun
        self._on_gap: Final = on_gap
        self.exported = Exported()

    def export(self, log: ClusterLog, *, every_s: float | None, most_per_batch: int | None) -> None:
        """Export what there is now, or with `every_s` go on until Ctrl-C; report what was read, and what was gone.

        Raises JobFailed.
        """
        held = self._context.log.ranges()
        next_offsets = self._next_offsets(held)
        require_no_gap(gaps_below(held, next_offsets), self._on_gap)
        self._run(log.stream(most_per_batch=most_per_batch, on_gap=self._on_gap), every_s=every_s)
        held_now = self._context.log.ranges()
        reached = self._next_offsets(held_now)
        self._context.log.ranges_read += ranges_between(next_offsets, reached, held)
        self._report(gaps_below(held_now, reached))

    def _report(self, gaps: Sequence[Gap]) -> None:
        """Report the rows of records that are gone or cannot be used, and `gaps`, which have no row yet."""
        self._context.report.summary["corrupt"] = 0
        if self.exported.lost_count:
            report_losses(self._context.report, self._written().where(is_lost()))
        self._context.report.missing(gaps)

    def _next_offsets(self, held: Sequence[LogRange]) -> dict[int, int]:
        """Return which offset each log partition is to be read from next, by the folds of the last micro-batches."""
        return {
            part.partition: expected_after(
                self._folds.before(_ANY_BATCH, part.partition), part.partition, self._begun
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
            # Spark's own Kafka source does not say which records were deleted while it read, nor what to do about it.
            held = self._context.log.ranges()
            require_no_gap(gaps_below(held, self._next_offsets(held)), self._on_gap)
            raise

    def write_batch(self, records: DataFrame, batch: int) -> None:
        """Write the rows of a micro-batch; again if need be, with the same outcome."""
        silver = partial(silver_of_batch, carried=self._folds, batch=batch, begun=self._begun)
        observation = Observation()
        observed = by_time(records.mapInArrow(silver, SILVER_SCHEMA)).observe(
            observation,
            sql.count(sql.lit(1)).alias("rows"),
            sql.count(sql.when(is_lost(), 1)).alias("lost"),
        )
        (
            observed.withColumn("batch", sql.lit(batch))
            .write.mode("overwrite")
            .option("partitionOverwriteMode", "dynamic")
            .partitionBy(*BY_TIME, "batch")
            .parquet(self._to)
        )
        self._note(batch, observation.get)

    def _note(self, batch: int, counts: Mapping[str, int]) -> None:
        self.exported.batches.append(batch)
        self.exported.row_count += counts["rows"]
        self.exported.lost_count += counts["lost"]
        self._context.report.say(f"Exported {counted(self.exported.row_count, 'row')}")

    def _written(self) -> DataFrame:
        """Return the rows that this run wrote."""
        rows = written_at(self._context.spark, self._to)
        return rows.where(sql.col("batch").isin(self.exported.batches))

    def written_by_time(self) -> DataFrame:
        """Return how many rows this run wrote, by date and hour."""
        if not self.exported.batches:
            return self._context.spark.createDataFrame([], "dt date, hour int, rows bigint")
        return rows_by_time(self._written())


def _await(query: "StreamingQuery") -> None:
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
