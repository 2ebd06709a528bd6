"""`kproxy replay state-at`: the durable state of every share-partition at a time, or at a log offset."""

from collections.abc import Mapping, Sequence
from typing import Final

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.fold_rows import ORPHAN, PARTITION, STATE
from kproxy.jobs.folding import OnCorrupt, folded_states
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.log_reader import Gap, LogRange
from kproxy.jobs.times import TIME, time_text


def run(  # noqa: PLR0913 - the options of the command line
    context: JobContext,
    *,
    at: int | None,
    at_offset: Sequence[tuple[int, int]],
    group: str | None,
    index: str | None,
    no_index: bool,
    on_corrupt: OnCorrupt,
) -> JobResult:
    """Fold the log up to the moment that is asked for."""
    ranges = ranges_until(context, at, dict(at_offset))
    claims: Mapping[int, int] = {}
    if not no_index:
        from kproxy.jobs.snapshot_index import shortened

        ranges, claims = shortened(context, ranges, index, on_corrupt)
    folded = folded_states(context, ranges, claims=claims, on_corrupt=on_corrupt).persist()
    extra = facts(context, folded)
    states = folded.where(sql.col("kind") == STATE)
    if group is not None:
        states = states.where(sql.col("group_id") == group)
    return JobResult(state_frame(context, states), extra)


def ranges_until(context: JobContext, at_ms: int | None, at_offsets: Mapping[int, int]) -> list[LogRange]:
    """Return all of the log before `at_ms`, and up to and including the offsets given by log partition.

    Raises JobFailed: NOT_FOUND when that is before the first record.
    """
    held = context.ranges()
    if not any(part.length for part in held):
        raise JobFailed(f"{context.reader.name} has no records", ExitCode.NOT_FOUND)
    if unknown := set(at_offsets) - {part.partition for part in held}:
        raise JobFailed(f"the log has no partition {min(unknown)}", ExitCode.NOT_FOUND)
    ends = {} if at_ms is None else context.reader.offsets_at(at_ms + 1)
    ends = {**ends, **{number: offset + 1 for number, offset in at_offsets.items()}}
    wanted = [part for part in held if not at_offsets or part.partition in at_offsets]
    ranges = [part.within(part.first_offset, ends.get(part.partition, part.end_offset)) for part in wanted]
    if not any(part.length for part in ranges):
        moment = "that offset" if at_ms is None else time_text(at_ms)
        raise JobFailed(
            f"{context.reader.name} begins after {moment}: nothing is known of the state then",
            ExitCode.NOT_FOUND,
        )
    return ranges


def facts(context: JobContext, folded: DataFrame) -> dict[str, object]:
    """Return what the closing summary says of a fold; report the share-partitions whose snapshot is gone."""
    orphans = folded.where(sql.col("kind") == ORPHAN)
    lost = orphans.groupBy("log_partition").agg(
        sql.count("*").alias("count"), sql.min("snapshot_offset").alias("first")
    )
    context.report(
        [
            Gap(
                row["log_partition"],
                0,
                row["first"],
                f"{row['count']} share-partitions have updates, but no snapshot",
            )
            for row in lost.collect()
        ]
    )
    counts = ("record_count", "ignored_count", "corrupt_count")
    sums = [sql.coalesce(sql.sum(name), sql.lit(0)).alias(name) for name in counts]
    (row,) = folded.where(sql.col("kind") == PARTITION).agg(*sums).collect()
    return {"records": row["record_count"], "ignored": row["ignored_count"], "corrupt": row["corrupt_count"]}


def state_frame(context: JobContext, states: DataFrame) -> DataFrame:
    """Return one row per share-partition, with Kafka's own field names."""
    known = context.reader.topic_names()
    names = context.spark.createDataFrame(list(known.items()), "topic_id string, topic_name string")
    named = states.join(sql.broadcast(names), "topic_id", "left")
    return named.orderBy(
        "group_id", sql.col("topic_name").asc_nulls_last(), "topic_id", "partition"
    ).selectExpr(
        "group_id AS groupId",
        "topic_id AS topicId",
        "topic_name AS topicName",
        "partition",
        "state_epoch AS stateEpoch",
        "leader_epoch AS leaderEpoch",
        "start_offset AS startOffset",
        "delivery_complete_count AS deliveryCompleteCount",
        "state_batches AS stateBatches",
    )


class _PartitionOffset(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    name = "PARTITION:OFFSET"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        number, _, offset = str(value).partition(":")
        if not (number.isdecimal() and offset.isdecimal()):
            self.fail(f"{value!r}: expected PARTITION:OFFSET, such as 12:1000", param, ctx)
        return int(number), int(offset)


PARTITION_OFFSET: Final = _PartitionOffset()
"""An option's value: a log partition and an offset."""

ON_CORRUPT: Final = click.Option(
    ["--on-corrupt"],
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="What to do about a record that cannot be used.",
)

JOB: Final = Job(
    run=run,
    options=(
        click.Option(["--at"], type=TIME, help="The time, ISO 8601 or epoch ms; inclusive. Default: now."),
        click.Option(
            ["--at-offset"],
            type=PARTITION_OFFSET,
            multiple=True,
            help="An offset of a log partition instead, inclusive; only the partitions given are read.",
        ),
        click.Option(["-g", "--group"], help="This share group only."),
        click.Option(
            ["--index"], metavar="PATH", help="Where the index of snapshots is kept. Default: a cache."
        ),
        click.Option(["--no-index"], is_flag=True, help="Fold all of the log, from its beginning."),
        ON_CORRUPT,
    ),
    epilog="""Examples:

\b
  kproxy replay state-at -b localhost:9092 --at 2026-11-20T13:00Z
  kproxy replay state-at --files dump.jsonl -o json | jq '.[] | select(.groupId == "workers")'
""",
)
"""The job."""
