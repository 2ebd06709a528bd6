"""Selecting part of the history: the options of every analysis, and the report of what that part lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

import click
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.history.silver_rows import CORRUPT
from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.log_history import History
from kproxy.jobs.history.silver import MISSING
from kproxy.jobs.run_report import RunReport
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.log_reader import Gap
from kproxy.notation import TIME_FORMS
from kproxy.share.identifiers import topic_id_of
from kproxy.time_options import TIME

SELECTION_OPTIONS: Final = (
    click.Option(["-g", "--group"], metavar="ID", help="Only this share group."),
    click.Option(["-t", "--topic"], metavar="NAME|ID", help="Only this consumed topic."),
    click.Option(
        ["-p", "--partition"],
        type=click.IntRange(min=0),
        help="Only this partition of consumed topics: its number, counted from 0, as in -p 3.",
    ),
    click.Option(["--since", "since_ms"], type=TIME, help=f"From this time on, of the log: {TIME_FORMS}."),
    click.Option(["--until", "until_ms"], type=TIME, help="Before this time, of the log."),
)
"""Handed to a job under the names of the fields of `Selection`."""


_NAMES_SCHEMA: Final = pa.schema([("topicId", pa.string()), ("topicName", pa.string())])
_MOST_REPORTED: Final = 20
"""How many records that are missing or cannot be used are reported one by one."""
_FEW: Final = 5
"""How many names or offsets an error message lists."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A selected group, topic, partition or member: its kind and name, the column of such names, and a filter."""

    kind: str
    value: object
    column: str
    matches: Column


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected part; None is all. `topic` is a name or an id; `until_ms` is exclusive."""

    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def silver(self, history: History, report: RunReport, *, member: str | None = None) -> DataFrame:
        """Return these rows of the silver table, of one member if it is given. A log is decoded once, and kept.

        The report gets what the history lacks: records that cannot be used or are gone, and a beginning that is.
        Raises JobFailed: NOT_FOUND for a group, topic, partition or member that no record of the log names.
        """
        named = self._named(history, member)
        is_selected = reduce(and_, (each.matches for each in named), sql.lit(True))
        found = history.rows(since_ms=self.since_ms, until_ms=self.until_ms).where(is_selected | is_lost())
        rows = history.cached(found)
        if begun := history.with_lost_beginning(self.since_ms):
            report.say(f"Warning: {beginnings(begun)}: what was written before that is not in the answer")
        report_losses(report, rows.where(is_lost() & (sql.col("group").isNull() | is_selected)))
        selected = rows.where(is_selected)
        if named and selected.isEmpty():
            _require_known(history, named)
        return selected

    def _named(self, history: History, member: str | None) -> list[_Named]:
        named = []
        if self.group is not None:
            named.append(_Named("group", self.group, "group", sql.col("group") == self.group))
        if self.topic is not None:
            is_topic = _is_topic(history, self.topic)
            named.append(_Named("topic", self.topic, "topic_id", is_topic))
        if self.partition is not None:
            is_partition = sql.col("partition") == self.partition
            named.append(_Named("partition", self.partition, "partition", is_partition))
        if member is not None:
            named.append(_Named("member or client", member, "member", _is_member(member)))
        return named


def beginnings(ranges: Sequence[LogRange]) -> str:
    """Return text that says where log partitions begin."""
    places = [f"partition {part.partition} at offset {part.first_offset}" for part in ranges[:_FEW]]
    more = [f"{len(ranges) - _FEW} more"] if len(ranges) > _FEW else []
    return f"the log begins late, {', '.join([*places, *more])}"


def known_in(names: DataFrame, column: str, shown: Mapping[str, str] | None = None) -> str:
    """Return text with the first few values of a column, each replaced by its name in `shown` if it has one."""
    few = names.select(column).where(sql.col(column).isNotNull()).distinct().orderBy(column).limit(_FEW)
    values = [str(row[0]) for row in few.collect()]
    return f"known are {', '.join((shown or {}).get(value, value) for value in values) or 'none'}"


def with_topic_names(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return `frame` with `topicName` behind its `topicId`; null where the name is not known."""
    columns = frame.columns
    place = columns.index("topicId") + 1
    if not names:
        return frame.select(
            *columns[:place], sql.lit(None).cast("string").alias("topicName"), *columns[place:]
        )
    rows = ({"topicId": topic_id, "topicName": name} for topic_id, name in names.items())
    named = local_frame(frame.sparkSession, rows, _NAMES_SCHEMA)
    joined = frame.join(sql.broadcast(named), "topicId", "left")
    return joined.select(*columns[:place], "topicName", *columns[place:])


def is_lost() -> Column:
    """Return which silver rows stand for records that are gone or corrupt."""
    return sql.col("outcome").isin(CORRUPT, MISSING)


def report_losses(report: RunReport, lost: DataFrame) -> None:
    """Report rows that stand for records which are gone or corrupt; the summary counts the latter."""
    by_place = lost.dropDuplicates(["log_partition", "log_offset"])
    found = by_place.orderBy("log_partition", "log_offset").limit(_MOST_REPORTED + 1).collect()
    report.missing(
        [
            Gap(
                row["log_partition"],
                row["log_offset"],
                row["log_offset"] + 1,
                f"the record cannot be used: {row['error']}",
            )
            if row["outcome"] == CORRUPT
            else Gap(
                row["log_partition"],
                row["first_offset"],
                row["last_offset"] + 1,
                "deleted before they were read",
            )
            for row in found[:_MOST_REPORTED]
        ]
    )
    counted = sum(row["outcome"] == CORRUPT for row in found)
    if len(found) > _MOST_REPORTED:
        report.say("Warning: further records are missing, or cannot be used")
        counted = by_place.where(sql.col("outcome") == CORRUPT).count()
    report.summary["corrupt"] = counted


def _require_known(history: History, named: Sequence[_Named]) -> None:
    """Raise JobFailed unless the log, at any time, has a record for all names together."""
    rows = history.rows_for_lookup().select("group", "topic_id", "partition", "member", "client_id", "kind")
    names = rows.distinct().persist()
    for number, each in enumerate(named):
        found = names.where(each.matches)
        if found.isEmpty():
            of = "".join(f" of {before.kind} {before.value!r}" for before in reversed(named[:number]))
            raise JobFailed(
                f"there is no {each.kind} {each.value!r}{of} in {history.name}; "
                f"{known_in(names, each.column, history.topic_names())}",
                ExitCode.NOT_FOUND,
            )
        names = found


def _is_member(member: str) -> Column:
    """Return which rows are of a member, by its id or its client id. The owner of a claim is not a client."""
    is_client = (sql.col("client_id") == member) & (sql.col("kind") != "claim")
    return sql.coalesce((sql.col("member") == member) | is_client, sql.lit(False))


def _is_topic(history: History, topic: str) -> Column:
    """Return which rows are of a topic: by its name; one that is not a known name is taken for an id."""
    names = history.topic_names()
    ids = [topic_id for topic_id, name in names.items() if name == topic]
    if not ids and not _is_topic_id(topic):
        known = ", ".join(sorted(set(names.values()))[:_FEW]) or "none: give its id"
        raise JobFailed(
            f"there is no topic {topic!r} in {history.name}; known are {known}", ExitCode.NOT_FOUND
        )
    return sql.col("topic_id").isin(*ids or [topic])


def _is_topic_id(text: str) -> bool:
    try:
        topic_id_of(text)
    except ValueError:
        return False
    return True
