"""`stuck`: records that hold the start offset back, or are about to reach the delivery limit; each with its history.

Nothing is folded. The newest snapshot of a share-partition is its whole state, and among the writes from there on what
decides about an offset is the one with the highest delivery count, then the highest state, in whatever order they come
(`kproxy.share.state_batches.lay_over`). Only offsets at or behind the start offset are looked at one by one.
"""

import time
from dataclasses import replace
from typing import Any, Final

import click
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.jobs.analyses.waiting import NO_ACQUISITIONS, nothing_waiting, topic_ends, waiting_in
from kproxy.jobs.history.buckets import kafka_names, time_text_of
from kproxy.jobs.history.changes import event, is_change, is_done
from kproxy.jobs.history.selection import SELECTION_OPTIONS, Selection, with_topic_names
from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.time_options import DURATION

_RECORD: Final = (*SHARE_PARTITION, "offset")
_SHOWN: Final = (*_RECORD, "reason", "delivery_count", "done_behind", "lag", "since", "history")


def run(
    context: JobContext, *, delivery_limit: int, near: int, behind: int, quiet_ms: int, **selection: Any
) -> JobResult:
    """Find the records that are stuck at the end of the selected part of the history."""
    asked = Selection(**selection)
    # Before the log is read: what is consumed while that takes its time is in no record that is looked at.
    earlier_ms = time.time_ns() // 1_000_000 - quiet_ms
    # The whole log decides what is stuck: the newest snapshot may be older than --since.
    silver = replace(asked, since_ms=None).silver(context.history, context.report)
    ends = topic_ends(context, silver, earlier_ms=earlier_ms, until_ms=asked.until_ms)
    waiting = None if ends.frame is None else waiting_in(silver, ends.frame, before_ms=ends.earlier_ms)
    stuck = stuck_in(
        silver, waiting, deliveries=delivery_limit - near, behind=behind, since_ms=asked.since_ms
    )
    named = with_topic_names(stuck.select(*kafka_names(_SHOWN)), context.history.topic_names())
    found = named.orderBy("groupId", "topicId", "partition", "offset")
    return JobResult(found, {"notKnown": [NO_ACQUISITIONS, *ends.unknown]}, ends.exit_code)


def stuck_in(
    silver: DataFrame,
    waiting: DataFrame | None = None,
    *,
    deliveries: int,
    behind: int,
    since_ms: int | None = None,
) -> DataFrame:
    """Return the records, not in a terminal state, that block a start offset or were delivered `deliveries` times.

    A share-partition's start offset is blocked by its first record that is not in a terminal state, if `behind` or more
    records behind it are. That record may be in no log record yet: then it is acquired for the first time, or never
    was. `history` begins at `since_ms`.
    """
    applied = silver.where(sql.col("outcome") == "applied")
    live = _live(applied)
    offsets = _offsets(applied, live, since_ms or 0).persist()
    first_open = _blocking(offsets, live)
    blocking = first_open.where(sql.col("done_behind") >= behind)
    is_near = ~sql.col("is_done") & (sql.col("delivery_count") >= deliveries)
    near = offsets.where(is_near).select(*_RECORD, sql.lit("near-delivery-limit").alias("is_near"))
    not_progressing = _not_progressing(
        live, first_open, nothing_waiting(live) if waiting is None else waiting
    )
    held = blocking.join(near, list(_RECORD), "full").join(not_progressing, list(_RECORD), "full")
    found = held.join(offsets, list(_RECORD), "left")
    is_blocking = sql.when(sql.col("done_behind").isNotNull(), "blocks-start-offset")
    return found.select(
        *_RECORD,
        sql.concat_ws(",", is_blocking, "is_near", "is_waiting").alias("reason"),
        sql.coalesce("delivery_count", sql.lit(0)).alias("delivery_count"),
        sql.coalesce("done_behind", sql.lit(0)).alias("done_behind"),
        "lag",
        sql.coalesce("since", "stood_since").alias("since"),
        sql.coalesce("history", sql.array()).alias("history"),
    )


def _not_progressing(live: DataFrame, first_open: DataFrame, waiting: DataFrame) -> DataFrame:
    """Return the first open offset of each waiting share-partition, its lag, and the time of its last progress."""
    placed = live.join(waiting, list(SHARE_PARTITION)).join(first_open, list(SHARE_PARTITION), "left")
    return placed.select(
        *SHARE_PARTITION,
        sql.coalesce("offset", "begin").alias("offset"),
        sql.lit("no-progress").alias("is_waiting"),
        "lag",
        time_text_of("stood_since_ms").alias("stood_since"),
    )


def _live(applied: DataFrame) -> DataFrame:
    """Return each share-partition that has a state: its start offset, and the log offset of its newest snapshot."""
    is_written = sql.when(sql.col("start_offset") >= 0, sql.col("log_offset"))
    return (
        applied.groupBy(*SHARE_PARTITION)
        .agg(
            sql.max(sql.when(sql.col("kind") == "snapshot", sql.col("log_offset"))).alias("snapshot_at"),
            sql.max_by("start_offset", is_written).alias("begin"),
            sql.max_by("kind", "log_offset").alias("last_kind"),
        )
        .where((sql.col("last_kind") != "tombstone") & sql.col("begin").isNotNull())
        .drop("last_kind")
    )


def _offsets(applied: DataFrame, live: DataFrame, since_ms: int) -> DataFrame:
    """Return, of each offset at or behind a start offset, its delivery state and its history."""
    counts = sql.col("log_offset") >= sql.col("snapshot_at")
    delivery = sql.struct("delivery_count", "state")
    entry = sql.struct(
        sql.col("log_offset").alias("logOffset"),
        time_text_of("log_ts_ms").alias("time"),
        event().alias("event"),
        sql.col("delivery_count").alias("deliveryCount"),
        sql.col("member").alias("memberId"),
        sql.col("client_id").alias("clientId"),
    )
    is_shown = is_change() & (sql.col("log_ts_ms") >= since_ms)
    offset = sql.sequence(sql.greatest("first_offset", "begin"), sql.col("last_offset"))
    return (
        applied.join(sql.broadcast(live), list(SHARE_PARTITION))
        .where(sql.col("last_offset") >= sql.col("begin"))
        .withColumn("offset", sql.explode(offset))
        .groupBy(*_RECORD)
        .agg(
            sql.max(sql.when(counts, delivery)).alias("now"),
            sql.min(sql.when(is_change(), sql.col("log_ts_ms"))).alias("since_ms"),
            sql.sort_array(sql.collect_list(sql.when(is_shown, entry))).alias("history"),
        )
        .select(*_RECORD, "now.*", _is_done_now(), time_text_of("since_ms").alias("since"), "history")
    )


def _is_done_now() -> Column:
    return (sql.col("now").isNotNull() & is_done("now.state")).alias("is_done")


def _blocking(offsets: DataFrame, live: DataFrame) -> DataFrame:
    """Return the first open offset of each share-partition, and how many behind it are in a terminal state."""
    in_order = Window.partitionBy(*SHARE_PARTITION).orderBy("offset")
    open_before = sql.sum(sql.when(sql.col("is_done"), 0).otherwise(1)).over(in_order)
    is_next = sql.col("offset") == sql.col("begin") + sql.row_number().over(in_order) - 1
    is_passed = (open_before == 0) & is_next
    return (
        offsets.join(sql.broadcast(live), list(SHARE_PARTITION))
        .withColumn("is_passed", is_passed)
        .groupBy(*SHARE_PARTITION, "begin")
        .agg(sql.count_if("is_passed").alias("passed"), sql.count_if("is_done").alias("done"))
        .select(
            *SHARE_PARTITION,
            (sql.col("begin") + sql.col("passed")).alias("offset"),
            (sql.col("done") - sql.col("passed")).alias("done_behind"),
        )
    )


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--delivery-limit"],
            type=click.IntRange(min=2),
            default=5,
            show_default=True,
            help="The group's share.delivery.count.limit.",
        ),
        click.Option(
            ["--near"],
            type=click.IntRange(min=0),
            default=1,
            show_default=True,
            help="How few deliveries before the limit are near.",
        ),
        click.Option(
            ["--behind"],
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="How many records done with must wait behind one that blocks.",
        ),
        click.Option(
            ["--quiet", "quiet_ms"],
            type=DURATION,
            default="5m",
            show_default=True,
            help="For how long records must have waited, and nothing been done with, for no-progress.",
        ),
        *SELECTION_OPTIONS,
    ),
    epilog="""Columns:

\b
  REASON          blocks-start-offset: records behind it are done with, it is not;
                  near-delivery-limit: few deliveries are left;
                  no-progress: its queue stands still before older records
  DELIVERY-COUNT  how often it was delivered, as far as the log tells
  DONE-BEHIND     how many records behind it are done with
  LAG             how many of its queue are not done with (no-progress only)
  SINCE           since when the log tells of it: the time, in the log, at which
                  it was released, or its lock or session ended, for the first
                  time; not when it was acquired. Where the log tells nothing of
                  it (no-progress): when its queue got on last
  HISTORY         all that the log tells of it, oldest first

The log does not say who acquired a record, nor where topics end: a consumer that hangs on the first
record leaves nothing in it until its lock ends. With -b the cluster is asked where its topics end, and what stands
still before older records is found as no-progress, with its LAG; with --files or --until it is not. kproxy groups
describe and kproxy in-flight ask the running kproxy.

For example: kproxy replay stuck -b broker:9092 --group orders --behind 100 -o json

With --since only the history of each record is shortened: what is stuck is told by all of the log.
""",
)
