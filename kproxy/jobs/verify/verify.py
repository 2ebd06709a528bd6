"""`kproxy replay verify`: is the log consistent, and does it fold to the states of a running kproxy?

The running kproxy returns its durable states with the log offset that they are the states at: the log is folded up to
that barrier. On the way every record is examined (`verify_rules.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import click
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.folds.fold_rows import (
    BATCHES_TYPE,
    FOLD_SCHEMA,
    PARTITION,
    STATE,
    Counts,
    key_columns,
    rows_of_fold,
)
from kproxy.jobs.folds.folding import log_partitions
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.raw_records import records_of
from kproxy.jobs.sources.schemas import arrow_schema_of
from kproxy.jobs.verify.live_state import LiveSlot, live_delivery_limit, live_log, live_slots
from kproxy.jobs.verify.verify_rules import NOTICE, VIOLATION, Examiner, LogPlace, Problem
from kproxy.statelog.state_log_fold import StateLogFold

DIFFERENCE: Final = "difference"
"""A share-partition that the running kproxy and the log disagree about."""

HIGHEST_DELIVERY_LIMIT: Final = 10
"""The highest value of `group.share.delivery.count.limit` (`ShareGroupConfig.java`)."""

_BY_GRAVITY: Final = (DIFFERENCE, VIOLATION, NOTICE)
_PROBLEM: Final = ("kind", "log_partition", "log_offset", "group_id", "topic_id", "partition", "detail")
_SCHEMA: Final = f"{FOLD_SCHEMA}, log_offset bigint, detail string"
_ARROW_SCHEMA: Final = arrow_schema_of(_SCHEMA)
_LIVE_SCHEMA: Final = arrow_schema_of(f"""
    log_partition int, groupId string, topicId string, partition int,
    snapshotEpoch int, stateEpoch int, leaderEpoch int, startOffset bigint, deliveryCompleteCount int,
    stateBatches {BATCHES_TYPE}
""")
_COMPARED: Final = {
    "snapshot_epoch": "snapshotEpoch",
    "state_epoch": "stateEpoch",
    "leader_epoch": "leaderEpoch",
    "start_offset": "startOffset",
    "delivery_complete_count": "deliveryCompleteCount",
    "state_batches": "stateBatches",
}
"""The fields of a state: in the rows of a fold, and as the admin port names them."""


def run(
    context: JobContext, *, admin_url: str, offline: bool, delivery_limit: int | None, max_problems: int
) -> JobResult:
    """Fold the log up to the barrier, examine it on the way, and compare."""
    limit = delivery_limit or (None if offline else live_delivery_limit(admin_url)) or HIGHEST_DELIVERY_LIMIT
    is_of_cluster = context.cluster is not None
    if is_of_cluster and not offline:
        require_log_of_kproxy(context.log.identity, live_log(admin_url))
    held = context.log.ranges()
    slots = [] if offline else list(live_slots(admin_url))
    ranges = held if offline else barrier_ranges(held, slots)
    # Files may be part of a log.
    partition_count = len(held) if is_of_cluster or not offline else None
    examined = examine(context.log.records(ranges), limit, partition_count).persist()
    problems = examined.where(sql.col("kind").isin(VIOLATION, NOTICE)).select(*_PROBLEM)
    extra = {"deliveryLimit": limit, **facts(examined)}
    if partition_count is None:
        duplicates = in_several_places(examined).persist()
        extra["violations"] += duplicates.count()
        problems = problems.unionByName(duplicates)
    if not offline:
        differing = differences(examined, live_frame(context, slots)).persist()
        extra["differences"] = differing.count()
        problems = problems.unionByName(differing)
    is_sound = not (extra["violations"] or extra["differences"])
    worst_first = sql.array_position(sql.array(*map(sql.lit, _BY_GRAVITY)), sql.col("kind"))
    shown = _shown(problems.orderBy(worst_first, *_PROBLEM[1:]).limit(max_problems))
    return JobResult(shown, extra, ExitCode.OK if is_sound else ExitCode.CHECK_FAILED)


def facts(examined: DataFrame) -> dict[str, int]:
    """Return the counts of the closing summary."""
    counted = examined.groupBy("kind").agg(
        sql.count(sql.lit(1)).alias("count"), sql.sum("record_count").alias("records")
    )
    by_kind = {row["kind"]: row for row in counted.collect()}
    kinds = {"sharePartitions": STATE, "violations": VIOLATION, "notices": NOTICE}
    counts = {name: by_kind[kind]["count"] if kind in by_kind else 0 for name, kind in kinds.items()}
    records = by_kind[PARTITION]["records"] if PARTITION in by_kind else 0
    return {"records": records, "differences": 0, **counts}


def require_log_of_kproxy(read: str, live: str) -> None:
    """Raise JobFailed unless the identities of the log that is read, and of the running kproxy's, are the same."""
    if read != live:
        raise JobFailed(
            f"the running kproxy keeps its state in {live}, and {read} was given (cluster:topic:topic id): "
            "is it the log of this kproxy?",
            ExitCode.CHECK_FAILED,
        )


def barrier_ranges(held: Iterable[LogRange], slots: Sequence[LiveSlot]) -> list[LogRange]:
    """Return the ranges of the log up to the applied offset of each slot.

    Raises JobFailed when the log ends before that, or has other partitions than there are slots.
    """
    by_partition = {part.partition: part for part in held}
    if unknown := sorted(by_partition.keys() - {slot.partition for slot in slots}):
        raise JobFailed(
            f"there is log partition {unknown[0]}, of which the running kproxy has no slot: "
            "is it the log of this kproxy?",
            ExitCode.CHECK_FAILED,
        )
    ranges = []
    for slot in slots:
        part = by_partition.get(slot.partition)
        if part is None or part.end_offset <= slot.applied_offset:
            end = "is not there" if part is None else f"ends before offset {part.end_offset}"
            raise JobFailed(
                f"the running kproxy has applied offset {slot.applied_offset} of log partition {slot.partition}, "
                f"which {end}: is it the log of this kproxy?",
                ExitCode.CHECK_FAILED,
            )
        ranges.append(part.within(part.first_offset, slot.applied_offset + 1))
    return ranges


def examine(rows: DataFrame, delivery_limit: int, partition_count: int | None = None) -> DataFrame:
    """Return the rows of the folds of `rows`, and one for each problem; these have `log_offset` and `detail`.

    `partition_count` is how many partitions the log has; None when that is not known.
    """
    examining = partial(examine_batches, delivery_limit=delivery_limit, partition_count=partition_count)
    return rows.mapInArrow(examining, _SCHEMA)


def examine_batches(
    batches: Iterator[pa.RecordBatch], *, delivery_limit: int, partition_count: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Examine and fold what one task reads."""
    with told_to_driver():
        for number, found in log_partitions(batches):
            place = None if partition_count is None else LogPlace(number, partition_count)
            examiner = Examiner(StateLogFold(on_corrupt="skip"), delivery_limit, place)
            for batch in found:
                problems = [
                    problem for _, record in records_of(batch) for problem in examiner.examine(record)
                ]
                yield _batch(_problem_row(number, problem) for problem in problems)
            yield _batch(_problem_row(number, problem) for problem in examiner.orphans())
            yield _batch(rows_of_fold(number, examiner.fold, Counts(examiner.record_count)))


def _batch(rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=_ARROW_SCHEMA)


def _problem_row(number: int, problem: Problem) -> dict[str, Any]:
    of_key = {} if problem.key is None else key_columns(problem.key)
    place = {"log_partition": number, "kind": problem.what, "log_offset": problem.offset}
    return {**place, **of_key, "detail": problem.detail}


def in_several_places(examined: DataFrame) -> DataFrame:
    """Return a row for each share-partition that has its state in more than one log partition."""
    places = sql.array_sort(sql.collect_set("log_partition"))
    states = examined.where(sql.col("kind") == STATE).groupBy("group_id", "topic_id", "partition")
    found = states.agg(places.alias("places")).where(sql.size("places") > 1)
    return found.select(
        sql.lit(VIOLATION).alias("kind"),
        sql.element_at("places", -1).alias("log_partition"),
        sql.lit(None).cast("bigint").alias("log_offset"),
        "group_id",
        "topic_id",
        "partition",
        sql.concat(
            sql.lit("has a state in each of log partitions "),
            sql.concat_ws(", ", sql.col("places").cast("array<string>")),
        ).alias("detail"),
    )


def live_frame(context: JobContext, slots: Sequence[LiveSlot]) -> DataFrame:
    """Return the states of a running kproxy, one row per share-partition."""
    rows = ({**state, "log_partition": slot.partition} for slot in slots for state in slot.states)
    return local_frame(context.spark, rows, _LIVE_SCHEMA)


def differences(examined: DataFrame, live: DataFrame) -> DataFrame:
    """Return a row for each share-partition whose two states are not the same."""
    replayed = examined.where(sql.col("kind") == STATE).drop("kind", "log_offset", "detail").alias("replayed")
    live = live.alias("live")
    is_same_key = (
        (sql.col("replayed.log_partition") == sql.col("live.log_partition"))
        & (sql.col("replayed.group_id") == sql.col("live.groupId"))
        & (sql.col("replayed.topic_id") == sql.col("live.topicId"))
        & (sql.col("replayed.partition") == sql.col("live.partition"))
    )
    details = [_disagreement(of_fold, of_live) for of_fold, of_live in _COMPARED.items()]
    detail = (
        sql.when(sql.col("groupId").isNull(), sql.lit("not known to the running kproxy"))
        .when(sql.col("group_id").isNull(), sql.lit("not in the log"))
        .otherwise(sql.concat_ws("; ", *details))
    )
    joined = replayed.join(live, is_same_key, "full_outer").withColumn("detail", detail)
    return joined.where("detail != ''").select(
        sql.coalesce("replayed.log_partition", "live.log_partition").alias("log_partition"),
        sql.lit(DIFFERENCE).alias("kind"),
        sql.coalesce("group_id", "groupId").alias("group_id"),
        sql.coalesce("topic_id", "topicId").alias("topic_id"),
        sql.coalesce("replayed.partition", "live.partition").alias("partition"),
        sql.lit(None).cast("bigint").alias("log_offset"),
        "detail",
    )


def _disagreement(of_fold: str, of_live: str) -> Column:
    """Return text for two values that differ, null for equal ones."""
    texts = (
        sql.to_json(name) if of_fold == "state_batches" else sql.col(name).cast("string")
        for name in (of_fold, of_live)
    )
    replayed, live = texts
    differs = ~sql.col(of_fold).eqNullSafe(sql.col(of_live))
    return sql.when(differs, sql.concat(sql.lit(f"{of_live} is "), live, sql.lit(", replayed "), replayed))


def _shown(problems: DataFrame) -> DataFrame:
    return problems.selectExpr(
        "kind",
        "log_partition AS logPartition",
        "log_offset AS offset",
        "group_id AS groupId",
        "topic_id AS topicId",
        "partition",
        "detail",
    )


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--admin-url"],
            metavar="URL",
            default="http://127.0.0.1:9644",
            show_default=True,
            help="The admin port of the running kproxy.",
        ),
        click.Option(["--offline"], is_flag=True, help="Compare with nobody: only examine the log."),
        click.Option(
            ["--delivery-limit"],
            type=click.IntRange(min=1),
            metavar="COUNT",
            help="More deliveries of a record than this are a violation. Default: the limit of the running kproxy; if "
            f"that was lowered, give the one before. With --offline {HIGHEST_DELIVERY_LIMIT}, the most there can be.",
        ),
        click.Option(
            ["--max-problems"],
            type=click.IntRange(min=1),
            default=20,
            show_default=True,
            help="How many are shown.",
        ),
    ),
    epilog="""Examples:

\b
  kproxy replay verify -b localhost:9092
  kproxy replay verify --files dump.jsonl --offline -o json

The exit code is 5 when there is a difference or a violation, or when it is the log of another kproxy. A notice is
none: a superseded owner wrote once more, which every fold passes over; offsets of the log are missing, as in a dump of
parts of it; or a share-partition has passed or counted offsets that nobody said were done with, which holes of its
topic explain.
""",
)
"""The job."""
