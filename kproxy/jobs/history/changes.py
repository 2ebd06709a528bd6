"""Changes of records out of rows of the silver table: who did what to which offsets, each change once.

A snapshot repeats what the updates before it said, so only those of its rows count that name who acted: the write
that became this snapshot. A row without delivery state was superseded within one log record: by a later change of the
same records, or by a start offset behind it.

Nothing is guessed that the log does not say. Version 0 of its headers has no acknowledgement type: a record that one of
them archived may have been rejected, released at the delivery limit, or a gap.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.history.silver_rows import CAUSES_OF_RECORDS
from kproxy.share.record_state import UNDELIVERABLE_STATES, RecordState
from kproxy.statelog.actors import Cause, RecordEnd

ACCEPT: Final = RecordEnd.ACCEPT.value
RELEASE: Final = "release"
REJECT: Final = RecordEnd.REJECT.value
GAP: Final = RecordEnd.GAP.value
"""An offset that was delivered in a batch, and holds no record."""
FINISHED: Final = "finished"
"""In a terminal state; the log does not say by which acknowledgement."""

ACKNOWLEDGEMENTS: Final = (ACCEPT, RELEASE, REJECT, FINISHED)
"""The events that are acknowledgements of records."""

NOT_RECORDED: Final = "not-recorded"
"""The `ended_by` of records in a terminal state, where the log does not say what ended them."""

RETURNS: Final = (RELEASE, Cause.LOCK_TIMEOUT.value, Cause.SESSION_CLOSE.value)
"""The events after which records are delivered again, unless that ended them."""

_CAUSES_OF_CHANGES: Final = tuple(cause.value for cause in Cause if cause not in CAUSES_OF_RECORDS)
_TERMINAL: Final = tuple(sorted(state.value for state in UNDELIVERABLE_STATES))


def changes_of(silver: DataFrame) -> DataFrame:
    """Return the rows that say what happened to records, with two columns more: `event` and `record_count`.

    An event is `accept`, `release`, `reject`, `gap` or `finished`, else the cause as the log spells it. `ended_by` is
    filled: null for records that go on, `not-recorded` where the log does not say what ended them. Logs that do not say
    who acted, such as Kafka's own, have releases and expired locks both as `release`.
    """
    return (
        silver.where(is_change())
        .withColumn("event", event())
        .withColumn("ended_by", _ended_by())
        .withColumn("record_count", sql.col("last_offset") - sql.col("first_offset") + 1)
    )


def event() -> Column:
    """Return the event of a row of the silver table, as `changes_of` names it."""
    by_state = (
        sql.when(sql.col("state") == RecordState.ACKNOWLEDGED.value, ACCEPT)
        .when(sql.col("state") == RecordState.AVAILABLE.value, RELEASE)
        .otherwise(FINISHED)
    )
    is_acknowledged = sql.col("cause").isNull() | (sql.col("cause") == Cause.ACKNOWLEDGE.value)
    return sql.coalesce("acknowledge_type", sql.when(is_acknowledged, by_state).otherwise(sql.col("cause")))


def is_at_delivery_limit() -> Column:
    """Return whether a change ended its records because of the delivery limit; never null."""
    return sql.coalesce(sql.col("ended_by") == RecordEnd.DELIVERY_LIMIT.value, sql.lit(False))


def _ended_by() -> Column:
    """Return what ended the records of a change whose `event` is known; null when they go on."""
    happened = sql.col("event")
    is_terminal = sql.coalesce(sql.col("state").isin(*_TERMINAL), sql.lit(False))
    return sql.coalesce(
        "ended_by",
        sql.when(happened == ACCEPT, RecordEnd.ACCEPT.value)
        .when(happened == Cause.DELIVERY_LIMIT.value, RecordEnd.DELIVERY_LIMIT.value)
        .when(is_terminal & (happened == Cause.OPERATOR.value), Cause.OPERATOR.value)
        .when(is_terminal | (happened == FINISHED), NOT_RECORDED),
    )


def is_done(state: str = "state") -> Column:
    """Return whether the state in this column is terminal; null is: the start offset has passed the records."""
    return sql.col(state).isNull() | sql.col(state).isin(*_TERMINAL)


def counted(name: str, *events: str) -> Column:
    """Return how many records of a group of changes have one of `events`."""
    return records(sql.col("event").isin(*events), name)


def records(is_counted: Column, name: str) -> Column:
    """Return how many records are in those of a group of changes that count."""
    return sql.sum(sql.when(is_counted, sql.col("record_count")).otherwise(0)).alias(name)


def is_change() -> Column:
    """Return whether a row of the silver table is a change, and does not repeat the state before it."""
    is_update = sql.col("kind") == "update"
    # The early forms of the log fill in records that were never given back: available, delivered 0 times.
    is_filler = (sql.col("state") == RecordState.AVAILABLE.value) & (sql.col("delivery_count") == 0)
    is_without_cause = sql.col("cause").isNull() & is_update & ~is_filler
    # Offsets that retention deleted have no state any more; the other rows of such a record repeat the state before.
    is_lost = (sql.col("cause") == Cause.LOG_START_MOVED.value) & sql.col("state").isNull()
    has_cause = sql.coalesce(sql.col("cause").isin(*_CAUSES_OF_CHANGES) | is_lost, sql.lit(False))
    return (
        (sql.col("outcome") == "applied")
        & sql.col("first_offset").isNotNull()
        & (has_cause | is_without_cause)
    )
