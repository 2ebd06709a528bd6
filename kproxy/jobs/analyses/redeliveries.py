"""`redeliveries`: at which offsets and when records became available again, or reached the delivery limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.history.buckets import (
    kafka_names,
    offset_step,
    step_of,
    time_step_ms,
    time_text_of,
)
from kproxy.jobs.history.changes import RELEASE, RETURNS, changes_of, counted, is_at_delivery_limit, records
from kproxy.jobs.history.selection import SELECTION_OPTIONS, Selection, with_topic_names
from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.statelog.actors import Cause
from kproxy.time_options import DURATION

_MOST_TIMES: Final = 120
_MOST_OFFSETS: Final = 80
_CELL: Final = ("time_ms", *SHARE_PARTITION, "first_offset", "last_offset")
_USED: Final = (
    *SHARE_PARTITION,
    "log_ts_ms",
    "first_offset",
    "last_offset",
    "delivery_count",
    "event",
)


@dataclass(frozen=True, slots=True)
class Steps:
    """The size of a cell of the heat map: in time and in offsets."""

    every_ms: int
    offsets: int


def run(context: JobContext, *, every_ms: int | None, offsets: int | None, **selection: Any) -> JobResult:
    """Map the redeliveries of the selected part of the history."""
    silver = Selection(**selection).silver(context.history, context.report)
    failed_deliveries = failed_deliveries_of(silver).persist(StorageLevel.DISK_ONLY)
    steps = steps_for(failed_deliveries, every_ms, offsets)
    cells = cells_of(failed_deliveries, steps).persist()
    names = context.history.topic_names()
    frame = with_topic_names(_shown(cells), names)
    return JobResult(
        frame.orderBy("time", "groupId", "topicId", "partition", "firstOffset"),
        extra={"everyMs": steps.every_ms, "offsets": steps.offsets},
        plot=lambda path: _draw(cells, steps, names, path),
    )


def failed_deliveries_of(silver: DataFrame) -> DataFrame:
    """Return the changes after which records are delivered again, and those that archive at the delivery limit."""
    is_failed = sql.col("event").isin(*RETURNS) | is_at_delivery_limit()
    return changes_of(silver).where(is_failed).select(*_USED, is_at_delivery_limit().alias("is_archived"))


def steps_for(failed_deliveries: DataFrame, every_ms: int | None, offsets: int | None) -> Steps:
    """Return the steps of the options; by default such that the heat map of a share-partition is readable."""
    if every_ms is not None and offsets is not None:
        return Steps(every_ms, offsets)
    of_partition = failed_deliveries.groupBy(*SHARE_PARTITION).agg(
        sql.min("log_ts_ms").alias("first_ms"),
        sql.max("log_ts_ms").alias("last_ms"),
        (sql.max("last_offset") - sql.min("first_offset") + 1).alias("span"),
    )
    found = of_partition.agg(
        (sql.max("last_ms") - sql.min("first_ms") + 1).alias("time"), sql.max("span").alias("offsets")
    ).first()
    return Steps(
        every_ms or time_step_ms(found["time"] or 1, _MOST_TIMES),
        offsets or offset_step(found["offsets"] or 1, _MOST_OFFSETS),
    )


def cells_of(failed_deliveries: DataFrame, steps: Steps) -> DataFrame:
    """Return the map: counts of records by step of time, share-partition and step of offsets.

    A batch over several steps counts in each with its records there.
    """
    lowest, highest = step_of("first_offset", steps.offsets), step_of("last_offset", steps.offsets)
    cell_end = sql.col("cell") + (steps.offsets - 1)
    in_cell = sql.least("last_offset", cell_end) - sql.greatest("first_offset", "cell") + 1
    return (
        failed_deliveries.withColumn("time_ms", step_of("log_ts_ms", steps.every_ms))
        .withColumn("cell", sql.explode(sql.sequence(lowest, highest, sql.lit(steps.offsets).cast("long"))))
        .withColumn("record_count", in_cell)
        .withColumn("last_offset", cell_end)
        .withColumn("first_offset", sql.col("cell"))
        .groupBy(*_CELL)
        .agg(
            records(~sql.col("is_archived"), "redelivered"),
            counted("released", RELEASE),
            counted("lockTimeouts", Cause.LOCK_TIMEOUT.value),
            counted("sessionCloses", Cause.SESSION_CLOSE.value),
            records(sql.col("is_archived"), "atDeliveryLimit"),
            sql.max("delivery_count").alias("maxDeliveryCount"),
        )
    )


def _shown(cells: DataFrame) -> DataFrame:
    counts = cells.columns[len(_CELL) :]
    timed = cells.withColumn("time_ms", time_text_of("time_ms"))
    return timed.select(*kafka_names(_CELL), *counts).withColumnRenamed("timeMs", "time")


def _draw(cells: DataFrame, steps: Steps, names: Mapping[str, str], path: Path) -> None:
    from kproxy.jobs.pictures import redeliveries

    redeliveries.draw(cells, steps.every_ms, steps.offsets, names, path)


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--every", "every_ms"],
            type=DURATION,
            help=f"The steps of time; by default at most {_MOST_TIMES}.",
        ),
        click.Option(
            ["--offsets"],
            type=click.IntRange(min=1),
            help=f"The steps of offsets; by default at most {_MOST_OFFSETS} in a share-partition.",
        ),
        *SELECTION_OPTIONS,
    ),
    has_plot=True,
    epilog="For example: kproxy replay redeliveries -b broker:9092 --group orders --plot map.png",
)
