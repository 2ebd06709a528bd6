"""`audit`: everything that happened to a record, and everything that a member did."""

from collections.abc import Mapping
from typing import Any, Final

import click
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.buckets import kafka_names, time_text_of
from kproxy.jobs.history.changes import changes_of
from kproxy.jobs.history.selection import SELECTION_OPTIONS, Selection, with_topic_names
from kproxy.jobs.history.silver import SHARE_PARTITION
from kproxy.jobs.job import Job, JobContext, JobResult
from kproxy.statelog.actors import Cause

PASSED: Final = "start-offset-passed"
"""The event of the first log record whose start offset lies above the record: it is not delivered any more."""

_LIFECYCLE_CAUSES: Final = (Cause.INITIALIZE.value, Cause.ALTER_OFFSETS.value, Cause.DELETE.value)
_SHOWN: Final = (
    "time",
    *SHARE_PARTITION,
    "event",
    "ended_by",
    "first_offset",
    "last_offset",
    "delivery_count",
    "start_offset",
    "member",
    "client_id",
    "client_host",
    "reason",
    "log_partition",
    "log_offset",
)
_OF_ALL: Final = ("time", "groupId", "topicName", "partition")
_NARROW_OF_RECORD: Final = (*_OF_ALL, "event", "endedBy", "deliveryCount", "clientId")
_NARROW_OF_MEMBER: Final = (*_OF_ALL, "firstOffset", "lastOffset", "event", "endedBy")
"""What fits a terminal, without what the question says already."""

_OF_RECORDS: Final = {
    "ended_by": "string",
    "first_offset": "long",
    "last_offset": "long",
    "delivery_count": "int",
}
"""The columns that only events of certain records have, and their types."""
_ORDER: Final = ("time", "logPartition", "logOffset", "firstOffset", "event")


def run(context: JobContext, *, offset: int | None, member: str | None, **selection: Any) -> JobResult:
    """List the events of a record, of a member, or of a record by one member."""
    if offset is None and member is None:
        raise JobFailed("audit of what? give --offset N, --member ID, or both", ExitCode.USAGE)
    silver = Selection(**selection).silver(context.history, context.report, member=member)
    events = changes_of(silver).select(*_columns())
    if offset is not None:
        events = events.where(sql.lit(offset).between(sql.col("first_offset"), sql.col("last_offset")))
    if offset is not None and member is None:
        events = events.unionByName(lifecycle_of(silver, offset))
    topic_names = context.history.topic_names()
    named = with_topic_names(events.select(*kafka_names(_SHOWN)), topic_names)
    return JobResult(
        named.orderBy(*_ORDER), narrow=_narrow(is_of_record=offset is not None, topic_names=topic_names)
    )


def _narrow(*, is_of_record: bool, topic_names: Mapping[str, str]) -> list[str]:
    """Return the columns of a table that is not wide: topics by their ids where nobody knows their names."""
    columns = _NARROW_OF_RECORD if is_of_record else _NARROW_OF_MEMBER
    return ["topicId" if name == "topicName" and not topic_names else name for name in columns]


def lifecycle_of(silver: DataFrame, offset: int) -> DataFrame:
    """Return the events of a share-partition that decide about a record: begun anew, deleted, or passed the record.

    The start offset passes a record at most once within a state epoch.
    """
    rows = silver.where(sql.col("outcome") == "applied").withColumn("is_lifecycle", _is_lifecycle())
    within = (*SHARE_PARTITION, "state_epoch")
    passings = (
        rows.where(sql.col("start_offset") > offset)
        .groupBy(*within)
        .agg(sql.min_by(sql.struct(*rows.columns), sql.struct("log_offset", "first_offset")).alias("row"))
        .select("row.*")
        .where(~sql.col("is_lifecycle"))
        .withColumn("event", sql.lit(PASSED))
    )
    lifecycle = rows.where("is_lifecycle").dropDuplicates([*SHARE_PARTITION, "log_offset"])
    named = lifecycle.withColumn("event", sql.coalesce("cause", "kind"))
    return (
        named.unionByName(passings)
        .withColumns({name: sql.lit(None) for name in _OF_RECORDS})
        .select(*_columns())
    )


def _is_lifecycle() -> Column:
    return sql.coalesce("cause", "kind").isin(*_LIFECYCLE_CAUSES, "tombstone")


def _columns() -> list[Column]:
    """Return the columns of `_SHOWN`, of the types that they have in the silver table."""
    cast = {name: sql.col(name).cast(kind).alias(name) for name, kind in _OF_RECORDS.items()}
    return [time_text_of("log_ts_ms").alias("time"), *[cast.get(name, sql.col(name)) for name in _SHOWN[1:]]]


JOB: Final = Job(
    run=run,
    options=(
        click.Option(
            ["--offset"], type=click.IntRange(min=0), help="The offset of a record in a consumed topic."
        ),
        click.Option(
            ["--member"],
            metavar="ID",
            help="A member of a share group: by its member id, or by its client id.",
        ),
        *SELECTION_OPTIONS,
    ),
    epilog="""For example: kproxy replay audit -b broker:9092 --topic jobs --partition 0 --offset 4711

A table has the columns that fit a terminal; -o wide has all: topic ids, START-OFFSET, MEMBER, CLIENT-HOST, what an
operator gave as REASON, and where in the log it stands.

ENDED-BY is what ended records for good: accept, reject, gap, delivery-limit or log-start. Where the log does not say
it, as those of earlier kproxies do not, EVENT is finished and ENDED-BY not-recorded. Acquisitions are not in the log.
""",
)
