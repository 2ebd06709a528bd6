"""`kproxy replay snapshot`: a compact log, one snapshot per share-partition."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

import click
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.folds.fold_rows import STATE, key_of, state_of
from kproxy.jobs.folds.folding import OnCorrupt, folded_states
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.sources.raw_records import RAW_SCHEMA, batch_of_partitions
from kproxy.jobs.state_at import AT, ON_CORRUPT, facts, ranges_until
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, SnapshotEpoch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.partitioning import group_partition, spread_partition
from kproxy.statelog.state_records import ShareSnapshot, encode_state_record
from kproxy.wire.records import Record


def run(
    context: JobContext, *, at: int | None, partitions: int | None, for_kafka: bool, on_corrupt: OnCorrupt
) -> JobResult:
    """Fold the log, and make one record of each state."""
    if partitions is None and context.cluster is None:
        raise JobFailed(
            "files do not tell how many partitions their log had, and who reads the new one looks where "
            "share.coordinator.state.topic.num.partitions says: give --partitions N",
            ExitCode.USAGE,
        )
    ranges = ranges_until(context, at, {})
    folded = folded_states(context.log, ranges, on_corrupt=on_corrupt).persist()
    extra = facts(context.report, folded)
    count = partitions or max(part.partition for part in ranges) + 1
    states = folded.where(sql.col("kind") == STATE)
    return JobResult(snapshot_records(states, count, for_kafka=for_kafka), extra)


def snapshot_records(states: DataFrame, partition_count: int, *, for_kafka: bool) -> DataFrame:
    """Return rows of RAW_SCHEMA: a record per state, with offsets from 0 on in each of `partition_count` partitions."""
    encode = partial(snapshot_batches, partition_count=partition_count, for_kafka=for_kafka)
    records = states.mapInArrow(encode, RAW_SCHEMA)
    in_order = Window.partitionBy("log_partition").orderBy("key")
    numbered = records.withColumn("log_offset", (sql.row_number().over(in_order) - 1).cast("bigint"))
    return numbered.orderBy("log_partition", "log_offset")


def snapshot_batches(
    batches: Iterator[pa.RecordBatch], *, partition_count: int, for_kafka: bool
) -> Iterator[pa.RecordBatch]:
    """Turn rows of states into rows of records. Their offsets are yet to be given."""
    with told_to_driver():
        for batch in batches:
            rows = batch.to_pylist()
            keys = [key_of(row) for row in rows]
            partitions = [
                spread_partition(key, partition_count)
                if for_kafka
                else group_partition(key.group_id, partition_count)
                for key in keys
            ]
            records = [
                snapshot_record(key, state_of(row), row["create_ms"], row["written_ms"], for_kafka=for_kafka)
                for key, row in zip(keys, rows, strict=True)
            ]
            yield batch_of_partitions(partitions, records)


def snapshot_record(
    key: SharePartitionKey, state: DurableShareState, create_ms: int, written_ms: int, *, for_kafka: bool
) -> Record:
    """Return the record of one state. Its offset is yet to be given.

    It names no claim: a fold takes such records as long as it has met no claim.

    For Kafka both epochs begin at 0: its leader epochs are those of the consumed topic's partitions, and a higher one
    in the log would fence them for good.
    """
    snapshot = ShareSnapshot(
        key=key,
        snapshot_epoch=SnapshotEpoch(0) if for_kafka else state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=LeaderEpoch(0) if for_kafka else state.leader_epoch,
        start_offset=state.start_offset,
        create_timestamp_ms=create_ms,
        write_timestamp_ms=written_ms,
        delivery_complete_count=state.delivery_complete_count,
        state_batches=state.state_batches,
    )
    actors = () if for_kafka else (Actor(Cause.SNAPSHOT),)
    record = encode_state_record(snapshot, claim_epoch=None, actors=actors)
    return replace(record, timestamp_ms=written_ms)


JOB: Final = Job(
    run=run,
    options=(
        AT,
        click.Option(
            ["--partitions"],
            type=click.IntRange(min=1),
            help="Partitions of the log that is to be written. Default: as many as the topic has; of files, none.",
        ),
        click.Option(
            ["--for-kafka"],
            is_flag=True,
            help="For Kafka's own __share_group_state: its partitions, leader and snapshot epoch 0, no headers.",
        ),
        ON_CORRUPT,
    ),
    epilog="""Examples:

\b
  kproxy replay snapshot -b localhost:9092 -o parquet --out compact
  kproxy replay snapshot --files history --for-kafka --partitions 50 -o json

Records are those of --files: keys and values are bytes, in JSON as base64.
""",
)
"""The job."""
