"""Share-partitions without progress before older records: the end offsets for that are the cluster's, not the log's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import Leaderless, TopicEnd, leaderless_text
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.job import JobContext
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.schemas import arrow_schema_of

NO_ACQUISITIONS: Final = (
    "which records are with a member, or were never delivered: acquisitions are not written to the log"
)
NO_ENDS: Final = "where the topics ended: that is not written to the log"

_PLACE: Final = ("topic_id", "partition")
_ENDS_SCHEMA: Final = arrow_schema_of(
    "topic_id string, partition int, end_offset bigint, earlier_end_offset bigint"
)


@dataclass(frozen=True, slots=True)
class TopicEnds:
    """The end offsets of the consumed topics, one row for each partition; `frame` is None when they are `unknown`.

    `earlier_ms` is the time of the column `earlier_end_offset`: records below it have waited since then.
    """

    frame: DataFrame | None
    earlier_ms: int = 0
    unknown: tuple[str, ...] = ()
    exit_code: ExitCode = ExitCode.OK


def topic_ends(context: JobContext, silver: DataFrame, *, earlier_ms: int, until_ms: int | None) -> TopicEnds:
    """Return where topics end, and ended at `earlier_ms`; unknown without a cluster, and for a time in the past.

    A partition without a leader is unknown, too; that is said if something in `silver` may wait there.
    """
    if until_ms is not None:
        return _unknown(context, f"{NO_ENDS}, and with --until the cluster is not asked")
    if context.cluster is None:
        return _unknown(context, f"{NO_ENDS}; give -b to ask the cluster")
    names = context.history.topic_names()
    try:
        found = context.cluster.topic_ends(names, earlier_ms=earlier_ms)
    except JobFailed as failure:
        unknown = f"{NO_ENDS}, and the cluster does not say: {failure}"
        return TopicEnds(None, 0, _unknown(context, unknown).unknown, ExitCode.PARTIAL_FAILURE)
    rows = (
        {
            "topic_id": topic_id,
            "partition": partition,
            "end_offset": end.end_offset,
            "earlier_end_offset": end.earlier_end_offset,
        }
        for (topic_id, partition), end in found.items()
        if isinstance(end, TopicEnd)
    )
    frame = local_frame(context.spark, rows, _ENDS_SCHEMA)
    lost = {place: end for place, end in found.items() if isinstance(end, Leaderless)}
    if lost and (said := _of_leaderless(silver, lost, names, before_ms=earlier_ms)):
        return TopicEnds(frame, earlier_ms, _unknown(context, said).unknown, ExitCode.PARTIAL_FAILURE)
    return TopicEnds(frame, earlier_ms)


def _of_leaderless(
    silver: DataFrame,
    lost: Mapping[tuple[str, int], Leaderless],
    names: Mapping[str, str],
    *,
    before_ms: int,
) -> str:
    """Return of which partitions without a leader it would have to be known where they end; empty of none."""
    quiet = _stood(silver).where(sql.col("stood_since_ms") <= before_ms)
    places = sorted(
        {(row["topic_id"], row["partition"]) for row in quiet.select(*_PLACE).distinct().collect()}
    )
    by_topic: dict[str, list[Leaderless]] = {}
    for topic_id, partition in places:
        if found := lost.get((topic_id, partition)):
            by_topic.setdefault(names[topic_id], []).append(found)
    return "; ".join(f"where {topic} ends: {leaderless_text(each)}" for topic, each in by_topic.items())


def waiting_in(silver: DataFrame, ends: DataFrame, *, before_ms: int) -> DataFrame:
    """Return the share-partitions that have made no progress since `before_ms`, and have records older than that.

    Progress is start offset and delivery-complete count together; `lag` is KIP-1226's, `stood_since_ms` the time of
    the last progress. Share-partitions without a start offset are left out.
    """
    return (
        _stood(silver)
        .join(sql.broadcast(ends), list(_PLACE))
        .where((sql.col("stood_since_ms") <= before_ms) & (sql.col("done") < sql.col("earlier_end_offset")))
        .select(*SHARE_PARTITION, (sql.col("end_offset") - sql.col("done")).alias("lag"), "stood_since_ms")
    )


def _stood(silver: DataFrame) -> DataFrame:
    """Return the progress of each share-partition that has a start offset, and since when it has made none."""
    every = Window.partitionBy(*SHARE_PARTITION)
    deleted_at = sql.max(sql.when(sql.col("kind") == "tombstone", sql.col("log_offset"))).over(every)
    progress = sql.col("start_offset") + sql.greatest("delivery_complete_count", sql.lit(0))
    first_with_most = sql.max_by("log_ts_ms", sql.struct("progress", -sql.col("log_offset")))
    return (
        silver.where(sql.col("outcome") == "applied")
        .withColumn("deleted_at", sql.coalesce(deleted_at, sql.lit(-1)))
        .where((sql.col("log_offset") > sql.col("deleted_at")) & (sql.col("start_offset") >= 0))
        .withColumn("progress", progress)
        .groupBy(*SHARE_PARTITION)
        .agg(sql.max("progress").alias("done"), first_with_most.alias("stood_since_ms"))
    )


def nothing_waiting(share_partitions: DataFrame) -> DataFrame:
    """Return the result of `waiting_in` when nothing waits."""
    none = sql.lit(None).cast("bigint")
    columns = [none.alias("lag"), none.alias("stood_since_ms")]
    return share_partitions.where(sql.lit(False)).select(*SHARE_PARTITION, *columns)


def _unknown(context: JobContext, what: str) -> TopicEnds:
    context.report.say(
        f"Note: not known: {what}; so a queue whose first record was never finished may be missing here"
    )
    return TopicEnds(None, 0, (what,))
