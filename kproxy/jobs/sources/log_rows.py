"""A log that Spark holds as rows of RAW_SCHEMA in no order: what there is of it, and the order."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.sources.log_reader import LogRange


def ranges_in(rows: DataFrame) -> list[LogRange]:
    """Return what each partition of `rows` holds, found by reading the offsets of all."""
    first, last = sql.min("log_offset").alias("first"), sql.max("log_offset").alias("last")
    found = rows.groupBy("log_partition").agg(first, last).collect()
    return sorted(LogRange(row["log_partition"], row["first"], row["last"] + 1) for row in found)


def offsets_in(rows: DataFrame, timestamp_ms: int) -> dict[int, int]:
    """Return, by partition, the first offset written at this time or later; its end when there is none."""
    offset = sql.col("log_offset")
    is_later = sql.col("timestamp_ms") >= timestamp_ms
    first, end = sql.min(sql.when(is_later, offset)), sql.max(offset) + 1
    found = rows.groupBy("log_partition").agg(sql.coalesce(first, end).alias("first")).collect()
    return {row["log_partition"]: row["first"] for row in found}


def in_log_order(rows: DataFrame, ranges: Sequence[LogRange]) -> DataFrame:
    """Return those of `rows` that are in `ranges`, each range in one task and in order: this is a shuffle."""
    wanted = sql.lit(False)
    for part in ranges:
        is_inside = sql.col("log_offset").between(part.first_offset, part.end_offset - 1)
        wanted = wanted | ((sql.col("log_partition") == part.partition) & is_inside)
    ordered = rows.where(wanted).repartition("log_partition")
    return ordered.sortWithinPartitions("log_partition", "log_offset")
