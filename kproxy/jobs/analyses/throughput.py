"""`throughput`: how many records were acknowledged, how, by whom and when; and how evenly the members shared them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.buckets import kafka_names, step_of, time_text_of
from kproxy.jobs.history.changes import (
    ACCEPT,
    ACKNOWLEDGEMENTS,
    FINISHED,
    GAP,
    REJECT,
    RELEASE,
    changes_of,
    counted,
    is_at_delivery_limit,
    records,
)
from kproxy.jobs.history.selection import SELECTION_OPTIONS, Selection, with_topic_names
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.statelog.actors import Cause
from kproxy.time_options import DURATION

_DIMENSIONS: Final = {
    "time": ("time_ms",),
    "group": ("group",),
    "topic": ("topic_id",),
    "partition": ("topic_id", "partition"),
    "member": ("group", "member"),
}
_CLIENT: Final = ("client_id", "client_host")
_BASE: Final = (
    "time_ms",
    "group",
    "topic_id",
    "partition",
    "member",
    "client_id",
    "client_host",
    "event",
    "ended_by",
)
_MOST_GROUPS: Final = 100
"""How many groups have their fairness in the closing summary: those with the most acknowledgements."""


def run(context: JobContext, *, by: str, every_ms: int, **selection: Any) -> JobResult:
    """Count the acknowledgements of the selected part of the history."""
    columns = _columns(by)
    base = counts(Selection(**selection).silver(context.history, context.report), every_ms).persist()
    frame = summed(base, columns, every_ms)
    if "topic_id" in columns:
        frame = with_topic_names(frame, context.history.topic_names())
    return JobResult(
        frame.orderBy(*frame.columns[: len(columns)]),
        extra={"fairness": [row.asDict() for row in fairness(base).limit(_MOST_GROUPS).collect()]},
        plot=lambda path: _draw(base, every_ms, path),
    )


def counts(silver: DataFrame, every_ms: int) -> DataFrame:
    """Return the number of records by time, share-partition, member and event. Tables and pictures sum these."""
    changes = changes_of(silver).withColumn("time_ms", step_of("log_ts_ms", every_ms))
    return changes.groupBy(*_BASE).agg(
        sql.sum("record_count").alias("record_count"),
        sql.min("log_ts_ms").alias("first_ms"),
        sql.max("log_ts_ms").alias("last_ms"),
    )


def summed(base: DataFrame, columns: Sequence[str], every_ms: int) -> DataFrame:
    """Return the table: a row for each combination of `columns`, a column for each kind of event.

    `atDeliveryLimit` counts those of `released`, `lockTimeouts` and `sessionCloses` that the delivery limit archived.
    `perSecond` is over the step of time if that is a column, else from the row's first change to its last.
    """
    span_ms = sql.lit(every_ms) if "time_ms" in columns else sql.max("last_ms") - sql.min("first_ms")
    acknowledged = sql.sum(sql.when(sql.col("event").isin(*ACKNOWLEDGEMENTS), sql.col("record_count")))
    # Logs of earlier kproxies do not have the client of a member whose locks expired.
    client = [sql.max(column).alias(column) for column in _CLIENT if "member" in columns]
    table = base.groupBy(*columns).agg(
        *client,
        counted("accepted", ACCEPT),
        counted("released", RELEASE),
        counted("rejected", REJECT),
        counted("gaps", GAP),
        counted("notRecorded", FINISHED),
        counted("lockTimeouts", Cause.LOCK_TIMEOUT.value),
        counted("sessionCloses", Cause.SESSION_CLOSE.value),
        counted("logStartMoved", Cause.LOG_START_MOVED.value),
        records(is_at_delivery_limit(), "atDeliveryLimit"),
        sql.round(acknowledged * 1000 / sql.nullif(span_ms, sql.lit(0)), 3).alias("perSecond"),
    )
    if "time_ms" in columns:
        table = table.withColumn("time_ms", time_text_of("time_ms"))
    places = (*columns, *_CLIENT) if "member" in columns else columns
    return table.select(*kafka_names(places), *table.columns[len(places) :]).withColumnRenamed(
        "timeMs", "time"
    )


def fairness(base: DataFrame) -> DataFrame:
    """Return how unevenly the members of each group acknowledged: 0 is evenly, near 1 is one member alone.

    It is the Gini coefficient over the members that acknowledged anything; the busiest groups come first.
    """
    members = (
        base.where(sql.col("event").isin(*ACKNOWLEDGEMENTS) & sql.col("member").isNotNull())
        .groupBy("group", "member")
        .agg(sql.sum("record_count").alias("share"))
    )
    rank = sql.row_number().over(Window.partitionBy("group").orderBy("share"))
    number, total = sql.count("share"), sql.sum("share")
    weighted = sql.sum(sql.col("rank") * sql.col("share"))
    return (
        members.withColumn("rank", rank)
        .groupBy(sql.col("group").alias("groupId"))
        .agg(
            number.alias("members"),
            total.alias("acknowledged"),
            sql.round(2 * weighted / (number * total) - (number + 1) / number, 4).alias("gini"),
        )
        .orderBy(sql.desc("acknowledged"), "groupId")
    )


def _columns(by: str) -> list[str]:
    names = [name.strip() for name in by.split(",")]
    unknown = [name for name in names if name not in _DIMENSIONS]
    if unknown:
        raise JobFailed(f"--by {unknown[0]!r}: expected of {', '.join(_DIMENSIONS)}", ExitCode.USAGE)
    return list(dict.fromkeys(column for name in names for column in _DIMENSIONS[name]))


def _draw(base: DataFrame, every_ms: int, path: Path) -> None:
    from kproxy.jobs.pictures import throughput

    throughput.draw(base, fairness(base), every_ms, path)


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--by"],
            default="group,member",
            show_default=True,
            metavar="LIST",
            help=f"What to count by, of {', '.join(_DIMENSIONS)}.",
        ),
        click.Option(
            ["--every", "every_ms"], type=DURATION, default="1m", show_default=True, help="The steps of time."
        ),
        *SELECTION_OPTIONS,
    ),
    has_plot=True,
    epilog="""For example: kproxy replay throughput -b broker:9092 --by time,group --every 1h --plot day.png

AT-DELIVERY-LIMIT counts those of RELEASED, LOCK-TIMEOUTS and SESSION-CLOSES that were given up. NOT-RECORDED are
finished records of which the log, written by an earlier kproxy, does not say how.
""",
)
