"""`kproxy replay state-at`: the durable state of every share-partition at a time, or at a log offset."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.folds.fold_rows import ORPHAN, PARTITION, STATE, without_snapshots
from kproxy.jobs.folds.folding import OnCorrupt, folded_states
from kproxy.jobs.folds.snapshot_index import FoldPlan, SnapshotIndex, plan_by_index
from kproxy.jobs.history.selection import beginnings, known_in, with_topic_names
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.run_report import RunReport
from kproxy.jobs.sources.log_reader import Gap
from kproxy.notation import TIME_FORMS, iso_time
from kproxy.share.record_state import RecordState
from kproxy.time_options import TIME

_WORTH_AN_INDEX: Final = 100_000
"""Offsets: fewer are folded before an index is looked up."""

_NARROW: Final = ("groupId", "topicName", "partition", "startOffset", "deliveryCompleteCount", "stateBatches")
_BATCHES_SHOWN: Final = 8


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
    """Fold the log up to a time or an offset."""
    ranges = ranges_until(context, at, dict(at_offset))
    plan = FoldPlan(ranges)
    is_worth_an_index = index is not None or sum(part.length for part in ranges) >= _WORTH_AN_INDEX
    if is_worth_an_index and not no_index:
        snapshots = SnapshotIndex.open(context.log, index)
        snapshots.extend(ranges, on_corrupt, say=context.report.say)
        plan = plan_by_index(snapshots, ranges)
    folded = folded_states(context.log, plan.ranges, claims=plan.claims, on_corrupt=on_corrupt).persist()
    extra = facts(context.report, folded, plan.lost)
    states = folded.where(sql.col("kind") == STATE)
    if group is not None:
        states = _of_group(context, states, group)
    return JobResult(state_frame(context, states), extra, narrow=_NARROW, cells=_CELLS)


def ranges_until(context: JobContext, at_ms: int | None, at_offsets: Mapping[int, int]) -> list[LogRange]:
    """Return all of the log up to and including `at_ms`, or the offsets given by log partition.

    Reports the log partitions that have no record left before that end. Raises JobFailed: NOT_FOUND when none has.
    """
    held = context.log.ranges()
    if not any(part.length for part in held):
        raise JobFailed(f"{context.log.name} has no records", ExitCode.NOT_FOUND)
    _require_held(held, at_ms, at_offsets)
    if at_ms is not None:
        ranges = context.log.ranges(until_ms=at_ms + 1)
    elif at_offsets:
        wanted = [part for part in held if part.partition in at_offsets]
        ranges = [part.within(part.first_offset, at_offsets[part.partition] + 1) for part in wanted]
    else:
        ranges = held
    if not any(part.length for part in ranges):
        moment = "that offset" if at_ms is None else iso_time(at_ms)
        raise JobFailed(
            f"{context.log.name} begins after {moment}: nothing is known of the state then",
            ExitCode.NOT_FOUND,
        )
    _report_beginnings(context, ranges)
    return ranges


def _require_held(held: Sequence[LogRange], at_ms: int | None, at_offsets: Mapping[int, int]) -> None:
    """Raise JobFailed for both a time and offsets, and for offsets that the log does not have."""
    if at_offsets and at_ms is not None:
        raise JobFailed("--at and --at-offset are two moments: give one of them", ExitCode.USAGE)
    ends = {part.partition: part.end_offset for part in held}
    for number, offset in sorted(at_offsets.items()):
        if number not in ends:
            raise JobFailed(f"the log has no partition {number}", ExitCode.NOT_FOUND)
        if offset >= ends[number]:
            raise JobFailed(
                f"log partition {number} has no offset {offset} yet: it ends before {ends[number]}",
                ExitCode.NOT_FOUND,
            )


def _report_beginnings(context: JobContext, ranges: Sequence[LogRange]) -> None:
    """Report the log partitions without a record in their range; warn of those that lost earlier records."""
    begun = context.log.with_lost_beginning(ranges)
    reason = "the log begins after that, or all of it is deleted"
    context.report.missing(
        [Gap(part.partition, 0, part.first_offset, reason) for part in begun if not part.length]
    )
    if shorter := [part for part in begun if part.length]:
        context.report.say(
            f"Warning: {beginnings(shorter)}: a share-partition whose last snapshot stood before that is not shown; "
            "kproxy itself deletes no such snapshot"
        )


def _of_group(context: JobContext, states: DataFrame, group: str) -> DataFrame:
    """Return the states of a group. Raises JobFailed: NOT_FOUND when there are none, and no records are missing."""
    found = states.where(sql.col("group_id") == group)
    if not context.report.gaps and found.isEmpty():
        raise JobFailed(
            f"there is no state of group {group!r} in {context.log.name} at that moment; "
            f"{known_in(states, 'group_id')}",
            ExitCode.NOT_FOUND,
        )
    return found


def facts(report: RunReport, folded: DataFrame, lost: Sequence[Gap] | None = None) -> dict[str, object]:
    """Return the counts of the closing summary; report the share-partitions whose snapshot is gone.

    `lost` has them as an index knows them: a fold that begins in the middle of the log may read none of their records.
    """
    counts = {"records": "record_count", "ignored": "ignored_count", "corrupt": "corrupt_count"}
    by_kind = folded.where(sql.col("kind").isin(ORPHAN, PARTITION)).groupBy("kind", "log_partition")
    found = by_kind.agg(
        sql.count(sql.lit(1)).alias("count"),
        sql.min("snapshot_offset").alias("first"),
        *[sql.sum(column).alias(name) for name, column in counts.items()],
    ).collect()
    found_by_fold = [
        without_snapshots(row["log_partition"], row["count"], row["first"])
        for row in found
        if row["kind"] == ORPHAN
    ]
    report.missing(sorted(found_by_fold if lost is None else lost))
    return {name: sum(row[name] for row in found if row["kind"] == PARTITION) for name in counts}


def state_frame(context: JobContext, states: DataFrame) -> DataFrame:
    """Return one row per share-partition, with Kafka's own field names."""
    named = with_topic_names(states.withColumnRenamed("topic_id", "topicId"), context.history.topic_names())
    return named.orderBy(
        "group_id", sql.col("topicName").asc_nulls_last(), "topicId", "partition"
    ).selectExpr(
        "group_id AS groupId",
        "topicId",
        "topicName",
        "partition",
        "state_epoch AS stateEpoch",
        "leader_epoch AS leaderEpoch",
        "start_offset AS startOffset",
        "delivery_complete_count AS deliveryCompleteCount",
        "state_batches AS stateBatches",
    )


def topic_text(row: Mapping[str, Any]) -> object:
    """Return what a table shows of a topic: its name, or its id where nobody knows the name."""
    return row["topicName"] or row["topicId"]


def states_text(row: Mapping[str, Any]) -> str | None:
    """Return what a table shows of the records of a row: their states by name, with how often they were tried."""
    batches = row["stateBatches"]
    shown = [_batch_text(batch) for batch in batches[:_BATCHES_SHOWN]]
    more = [f"and {len(batches) - _BATCHES_SHOWN} more"] if len(batches) > _BATCHES_SHOWN else []
    return ", ".join([*shown, *more]) or None


def _batch_text(batch: Mapping[str, Any]) -> str:
    first, last = batch["firstOffset"], batch["lastOffset"]
    state = RecordState(batch["deliveryState"]).name.capitalize()
    return f"{first if first == last else f'{first}-{last}'} {state} ({batch['deliveryCount']})"


_CELLS: Final = {"topicName": topic_text, "stateBatches": states_text}


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

AT: Final = click.Option(["--at"], type=TIME, help=f"The time, inclusive: {TIME_FORMS}. Default: now.")

JOB: Final = Job(
    run=run,
    options=(
        AT,
        click.Option(
            ["--at-offset"],
            type=PARTITION_OFFSET,
            multiple=True,
            help="An offset of a log partition instead, inclusive; only the partitions given are read.",
        ),
        click.Option(["-g", "--group"], help="This share group only."),
        click.Option(
            ["--index"],
            metavar="PATH",
            help="Where the index of snapshots is kept. Default: a cache, and none for a log of less than "
            f"{_WORTH_AN_INDEX:,} records.",
        ),
        click.Option(["--no-index"], is_flag=True, help="Fold all of the log, from its beginning."),
        ON_CORRUPT,
    ),
    epilog="""Examples:

\b
  kproxy replay state-at -b localhost:9092 --at 2026-11-20T13:00Z
  kproxy replay state-at --files dump.jsonl -o json | jq '.[] | select(.groupId == "workers")'

A table has the names of topics, and of each share-partition which records are in which state, and in brackets how often
they were tried; -o wide adds ids and epochs. JSON has the numbers of the log.
""",
)
"""The job."""
