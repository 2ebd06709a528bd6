"""`kproxy replay verify`: does the log say what a running kproxy believes, and does it say what it may?

The running kproxy tells its durable states and the offset that they are the state at: that is the barrier, up to which
the log is folded. Beside, every record is examined (`verify_rules.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final

import click
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.fold_rows import (
    BATCHES_TYPE,
    FOLD_ARROW_SCHEMA,
    FOLD_SCHEMA,
    PARTITION,
    STATE,
    Counts,
    rows_of_fold,
)
from kproxy.jobs.folding import by_log_partition
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.jobs.live_state import LiveSlot, live_slots
from kproxy.jobs.log_reader import LogRange
from kproxy.jobs.raw_records import records_of
from kproxy.jobs.verify_rules import NOTICE, VIOLATION, Examiner, Problem
from kproxy.share.identifiers import topic_id_text
from kproxy.statelog.fold import StateLogFold

DIFFERENCE: Final = "difference"
"""A share-partition that the running kproxy and the log disagree about."""

_SCHEMA: Final = f"{FOLD_SCHEMA}, log_offset bigint, detail string"
_ARROW_SCHEMA: Final = pa.schema([*FOLD_ARROW_SCHEMA, ("log_offset", pa.int64()), ("detail", pa.string())])
_LIVE_SCHEMA: Final = (
    "log_partition int, groupId string, topicId string, partition int, snapshotEpoch int, stateEpoch int,"
    f" leaderEpoch int, startOffset bigint, deliveryCompleteCount int, stateBatches {BATCHES_TYPE}"
)
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
    context: JobContext, *, admin_url: str, offline: bool, delivery_limit: int, max_problems: int
) -> JobResult:
    """Fold the log up to the barrier, examine it on the way, and compare."""
    slots = [] if offline else list(live_slots(admin_url))
    ranges = context.ranges() if offline else barrier_ranges(context.ranges(), slots)
    examined = examine(context.records(ranges), delivery_limit).persist()
    problems = [examined.where(sql.col("kind").isin(VIOLATION, NOTICE))]
    if slots:
        problems.append(differences(examined, live_frame(context, slots)))
    found = reduce(DataFrame.unionByName, [_shown(frame) for frame in problems]).persist()
    counts = {row["kind"]: row["count"] for row in found.groupBy("kind").count().collect()}
    is_sound = not (counts.get(VIOLATION) or counts.get(DIFFERENCE))
    (totals,) = (
        examined.where(sql.col("kind") == PARTITION).agg(sql.sum("record_count").alias("records")).collect()
    )
    extra = {
        "records": totals["records"] or 0,
        "sharePartitions": examined.where(sql.col("kind") == STATE).count(),
        "differences": counts.get(DIFFERENCE, 0),
        "violations": counts.get(VIOLATION, 0),
        "notices": counts.get(NOTICE, 0),
    }
    shown = found.orderBy("kind", "logPartition", "offset", "groupId", "topicId", "partition").limit(
        max_problems
    )
    return JobResult(shown, extra, ExitCode.OK if is_sound else ExitCode.CHECK_FAILED)


def barrier_ranges(held: Iterable[LogRange], slots: Sequence[LiveSlot]) -> list[LogRange]:
    """Return what the log holds up to what each slot has applied. Raises JobFailed when the log ends before that."""
    by_partition = {part.partition: part for part in held}
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


def examine(rows: DataFrame, delivery_limit: int) -> DataFrame:
    """Return the rows of the folds of `rows`, and one for each problem; these have `log_offset` and `detail`."""
    return rows.mapInArrow(partial(examine_batches, delivery_limit=delivery_limit), _SCHEMA)


def examine_batches(batches: Iterator[pa.RecordBatch], *, delivery_limit: int) -> Iterator[pa.RecordBatch]:
    """Examine and fold what one task reads."""
    examiners: dict[int, Examiner] = {}
    with told_to_driver():
        for number, batch in by_log_partition(batches):
            if number not in examiners:
                examiners[number] = Examiner(StateLogFold(on_corrupt="skip"), delivery_limit)
            examiner = examiners[number]
            problems = [problem for _, record in records_of(batch) for problem in examiner.examine(record)]
            yield _batch(_problem_row(number, problem) for problem in problems)
        for number, examiner in examiners.items():
            yield _batch(_problem_row(number, problem) for problem in examiner.orphans())
            yield _batch(rows_of_fold(number, examiner.fold, Counts(examiner.record_count)))


def _batch(rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=_ARROW_SCHEMA)


def _problem_row(number: int, problem: Problem) -> dict[str, Any]:
    key = problem.key
    of_key = (
        {}
        if key is None
        else {
            "group_id": key.group_id,
            "topic_id": topic_id_text(key.topic_id),
            "partition": key.partition,
        }
    )
    place = {"log_partition": number, "kind": problem.what, "log_offset": problem.offset}
    return {**place, **of_key, "detail": problem.detail}


def live_frame(context: JobContext, slots: Sequence[LiveSlot]) -> DataFrame:
    """Return the states of a running kproxy, one row per share-partition."""
    names = [name.strip().split()[0] for name in _LIVE_SCHEMA.split(",")[1:9]]
    rows = [
        (
            slot.partition,
            *(state[name] for name in names),
            [_batch_values(batch) for batch in state["stateBatches"]],
        )
        for slot in slots
        for state in slot.states
    ]
    return context.spark.createDataFrame(rows, _LIVE_SCHEMA)


def _batch_values(batch: Mapping[str, int]) -> tuple[int, int, int, int]:
    return batch["firstOffset"], batch["lastOffset"], batch["deliveryState"], batch["deliveryCount"]


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
            default=10,
            show_default=True,
            help="More deliveries of a record than this are a violation.",
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

The exit code is 5 when there is a difference or a violation. A notice is none: an owner that was superseded wrote
once more, and every fold passes over that.
""",
)
"""The job."""
