"""`lag-history`: how far each share-partition was behind, over time.

The state log does not have the end offsets of the consumed topics. The highest offset in any record of a
share-partition stands for it: the lag is a lower bound, and exact while members keep up.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.jobs.analyses.waiting import NO_ACQUISITIONS, NO_ENDS
from kproxy.jobs.history.buckets import kafka_names, step_of, time_text_of
from kproxy.jobs.history.selection import SELECTION_OPTIONS, Selection, with_topic_names
from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.time_options import DURATION

_VALUES: Final = ("start_offset", "delivery_complete_count", "recorded_end_offset", "lag", "done", "stood_ms")


def run(context: JobContext, *, every_ms: int, **selection: Any) -> JobResult:
    """Follow the selected share-partitions through time."""
    history = lag_of(Selection(**selection).silver(context.history, context.report), every_ms).persist()
    timed = history.withColumn("time_ms", time_text_of("time_ms"))
    shown = timed.select(*kafka_names(("time_ms", *SHARE_PARTITION, *_VALUES)))
    names = context.history.topic_names()
    named = with_topic_names(shown.withColumnRenamed("timeMs", "time"), names)
    return JobResult(
        named.orderBy("groupId", "topicId", "partition", "time"),
        {"notKnown": [NO_ACQUISITIONS, NO_ENDS]},
        plot=lambda path: _draw(history, names, path),
    )


def lag_of(silver: DataFrame, every_ms: int) -> DataFrame:
    """Return the state of each share-partition at the end of each step of time in which it has log records.

    `lag` is KIP-1226's: end offset less start offset and delivery-complete count. `done` is by how much start offset
    and count together grew since the row before; `stood_ms` how long the start offset has been the same.
    """
    last = sql.max_by(sql.struct("start_offset", "delivery_complete_count", "log_ts_ms"), "log_offset")
    at_steps = (
        silver.where((sql.col("outcome") == "applied") & (sql.col("start_offset") >= 0))
        .withColumn("time_ms", step_of("log_ts_ms", every_ms))
        .groupBy("time_ms", *SHARE_PARTITION)
        .agg(
            last.alias("last"),
            sql.max("last_offset").alias("highest"),
            sql.max("start_offset").alias("highest_start"),
        )
    )
    so_far = Window.partitionBy(*SHARE_PARTITION).orderBy("time_ms")
    at_this_start = Window.partitionBy(*SHARE_PARTITION, "start_offset").orderBy("time_ms")
    seen = sql.greatest(sql.col("highest") + 1, "highest_start")
    progress = sql.col("start_offset") + sql.col("delivery_complete_count")
    return (
        at_steps.withColumn("start_offset", sql.col("last.start_offset"))
        .withColumn("delivery_complete_count", sql.greatest("last.delivery_complete_count", sql.lit(0)))
        .withColumn("recorded_end_offset", sql.max(seen).over(so_far))
        .withColumn("lag", sql.greatest(sql.col("recorded_end_offset") - progress, sql.lit(0)))
        .withColumn("done", sql.greatest(progress - sql.lag(progress).over(so_far), sql.lit(0)))
        .withColumn("stood_ms", sql.col("last.log_ts_ms") - sql.min("last.log_ts_ms").over(at_this_start))
        .select("time_ms", *SHARE_PARTITION, *_VALUES)
    )


def _draw(history: DataFrame, names: Mapping[str, str], path: Path) -> None:
    from kproxy.jobs.pictures import lag_history

    lag_history.draw(history, names, path)


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--every", "every_ms"], type=DURATION, default="1m", show_default=True, help="The steps of time."
        ),
        *SELECTION_OPTIONS,
    ),
    has_plot=True,
    epilog="The log does not say where topics ended, nor who acquired what: RECORDED-END-OFFSET is behind the last "
    "record of which anything was written, and LAG is at least so much. What was never delivered, or acquired and not "
    "given back, is not in it. kproxy groups describe asks the brokers for the lag of now.\n\n"
    "For example: kproxy replay lag-history -b broker:9092 --group orders --every 10m --plot lag.png",
)
