"""The silver table: one row per state batch of a log record, and per actor that made the change, on executors.

What the rows say of a record is told by `kproxy.clients.history.silver_rows`. Offsets rise within a log partition.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.history.silver_rows import SilverRow, SilverWriter
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.folds.folding import log_partitions
from kproxy.jobs.sources.raw_records import records_of
from kproxy.jobs.sources.schemas import arrow_schema_of
from kproxy.statelog.state_log_fold import FoldImage

SILVER_SCHEMA: Final = """
    group string, topic_id string, partition int, log_partition int, log_offset bigint, log_ts_ms bigint,
    kind string, outcome string, claim_epoch bigint, snapshot_epoch int, state_epoch int, leader_epoch int,
    start_offset bigint, delivery_complete_count int,
    first_offset bigint, last_offset bigint, state int, delivery_count int,
    member string, client_id string, client_host string, cause string, acknowledge_type string, ended_by string,
    error string, reason string
"""
"""The columns. Offsets of batches are inclusive; `state` is Kafka's number; null where a record has no such field.

`ended_by` is what ended the records for good, as far as the header of the log record says it, `reason` what an operator
said.
"""

ADDED_COLUMNS: Final = frozenset({"acknowledge_type", "ended_by", "reason"})
"""Columns that earlier exports do not have."""

MISSING: Final = "missing"
"""The kind of a row for log records that are gone: its offsets are those of the log, not of a consumed topic."""

SILVER_ARROW_SCHEMA: Final = arrow_schema_of(SILVER_SCHEMA)
"""The same for pyarrow."""

SHARE_PARTITION: Final = ("group", "topic_id", "partition")
"""The columns that name a share-partition."""


def between(silver: DataFrame, since_ms: int | None, until_ms: int | None) -> DataFrame:
    """Return the rows of log records written at `since_ms` or later and before `until_ms`; None is no bound."""
    if since_ms is not None:
        silver = silver.where(sql.col("log_ts_ms") >= since_ms)
    if until_ms is not None:
        silver = silver.where(sql.col("log_ts_ms") < until_ms)
    return silver


def silver_rows(records: DataFrame, images: Mapping[int, FoldImage] | None = None) -> DataFrame:
    """Return the silver rows of `records`, which come from a `LogReader`.

    `images` has the folds of the records before the first one, by log partition.
    """
    return records.mapInArrow(partial(silver_batches, images=dict(images or {})), SILVER_SCHEMA)


def silver_batches(
    batches: Iterator[pa.RecordBatch], *, images: Mapping[int, FoldImage]
) -> Iterator[pa.RecordBatch]:
    """Yield the silver rows of what one task reads."""
    with told_to_driver():
        for number, found in log_partitions(batches):
            writer = SilverWriter.after(number, images.get(number))
            for batch in found:
                yield batch_of_silver(rows_of_batch(writer, batch))


def rows_of_batch(writer: SilverWriter, batch: pa.RecordBatch) -> list[SilverRow]:
    """Return the rows of the next records, all of the log partition of `writer`."""
    return [row for _, record in records_of(batch) for row in writer.rows(record)]


def batch_of_silver(rows: Sequence[SilverRow]) -> pa.RecordBatch:
    """Return rows as a batch of SILVER_ARROW_SCHEMA."""
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in SILVER_ARROW_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SILVER_ARROW_SCHEMA)


def missing_row(log_partition: int, first_offset: int, end_offset: int, timestamp_ms: int) -> SilverRow:
    """Return the row for records that were deleted before they were read; the next one was written at this time."""
    return {
        "log_partition": log_partition,
        "log_offset": first_offset,
        "log_ts_ms": timestamp_ms,
        "kind": MISSING,
        "outcome": MISSING,
        "first_offset": first_offset,
        "last_offset": end_offset - 1,
        "error": f"log offsets {first_offset}-{end_offset - 1} were deleted before they were read",
    }
