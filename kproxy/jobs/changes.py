"""What the rows of the silver table tell of changes: who did what to which offsets, each change once.

A snapshot repeats what the updates before it said, so only those of its rows count that name who acted: the write
that became this snapshot. A row without delivery state was overtaken, within one log record, by a start offset behind
it: its records are done with, and whether they were accepted or rejected is not recorded.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.jobs.silver import CAUSES_OF_RECORDS
from kproxy.share.record_state import TERMINAL_STATES, RecordState
from kproxy.statelog.actors import Cause

ACCEPT: Final = "accept"
RELEASE: Final = "release"
REJECT: Final = "reject"
DONE: Final = "done"
"""Accepted or rejected: the log no longer says which."""

ACKNOWLEDGEMENTS: Final = (ACCEPT, RELEASE, REJECT, DONE)
"""The events that are acknowledgements of a member."""

RETURNS: Final = (RELEASE, Cause.LOCK_TIMEOUT.value, Cause.SESSION_CLOSE.value)
"""The events after which records are delivered again, unless the delivery limit was reached."""

_CAUSES_OF_CHANGES: Final = tuple(cause.value for cause in Cause if cause not in CAUSES_OF_RECORDS)
_TERMINAL: Final = tuple(sorted(state.value for state in TERMINAL_STATES))


def changes_of(silver: DataFrame) -> DataFrame:
    """Return the rows that say what happened to records, with two columns more: `event` and `record_count`.

    An event is `accept`, `release`, `reject` or `done`, else the cause as the log spells it. Logs that do not say who
    acted, such as Kafka's own, give the same, with releases and expired locks both as `release`.
    """
    return (
        silver.where(is_change())
        .withColumn("event", event())
        .withColumn("record_count", sql.col("last_offset") - sql.col("first_offset") + 1)
    )


def event() -> Column:
    """Return what a row of the silver table tells, in one word."""
    by_state = (
        sql.when(sql.col("state") == RecordState.ACKNOWLEDGED.value, ACCEPT)
        .when(sql.col("state") == RecordState.ARCHIVED.value, REJECT)
        .when(sql.col("state") == RecordState.AVAILABLE.value, RELEASE)
        .otherwise(DONE)
    )
    is_untold = sql.col("cause").isNull() | (sql.col("cause") == Cause.ACKNOWLEDGE.value)
    return sql.when(is_untold, by_state).otherwise(sql.col("cause"))


def is_done(state: str = "state") -> Column:
    """Return whether records in the state of this column will never be delivered again; null is done with."""
    return sql.col(state).isNull() | sql.col(state).isin(*_TERMINAL)


def counted(name: str, *events: str) -> Column:
    """Return how many records of a group of changes have one of `events`."""
    return sql.sum(sql.when(sql.col("event").isin(*events), sql.col("record_count")).otherwise(0)).alias(name)


def is_change() -> Column:
    """Return whether a row of the silver table tells of a change, and not of what stood before."""
    is_update = sql.col("kind") == "update"
    # The early forms of the log fill in records that were never given back: available, delivered 0 times.
    is_filler = (sql.col("state") == RecordState.AVAILABLE.value) & (sql.col("delivery_count") == 0)
    is_untold = sql.col("cause").isNull() & is_update & ~is_filler
    is_overtaken = (sql.col("cause") == Cause.LOG_START_MOVED.value) & is_update
    is_told = sql.coalesce(sql.col("cause").isin(*_CAUSES_OF_CHANGES) | is_overtaken, sql.lit(False))
    return (sql.col("outcome") == "applied") & sql.col("first_offset").isNotNull() & (is_told | is_untold)
