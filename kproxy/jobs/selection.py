"""Which part of the history an analysis looks at: the options that all of them have."""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import click
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.job import JobContext
from kproxy.jobs.silver_files import SilverFiles
from kproxy.jobs.times import TIME

SELECTION_OPTIONS: Final = (
    click.Option(["--group"], metavar="ID", help="Only this share group."),
    click.Option(["--topic"], metavar="NAME|ID", help="Only this consumed topic."),
    click.Option(["--partition"], type=click.IntRange(min=0), help="Only this partition of consumed topics."),
    click.Option(["--since", "since_ms"], type=TIME, help="From this time on, of the log."),
    click.Option(["--until", "until_ms"], type=TIME, help="Before this time, of the log."),
)
"""Handed to a job under the names of the fields of `Selection`."""

_TOPIC_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Selection:
    """What to look at; None is all. `topic` is a name or an id; `until_ms` is exclusive."""

    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def silver(self, context: JobContext) -> DataFrame:
        """Return these rows of the silver table. Raises JobFailed for a topic that nobody knows."""
        rows = context.silver(since_ms=self.since_ms, until_ms=self.until_ms)
        if self.group is not None:
            rows = rows.where(sql.col("group") == self.group)
        if self.topic is not None:
            rows = rows.where(_is_topic(self.topic, context.reader.topic_names()))
        if self.partition is not None:
            rows = rows.where(sql.col("partition") == self.partition)
        return rows

    def silver_kept(self, context: JobContext) -> DataFrame:
        """Return the same rows, for a job that goes through them several times: a log is decoded once, and kept."""
        rows = self.silver(context)
        return rows if isinstance(context.reader, SilverFiles) else rows.persist(StorageLevel.DISK_ONLY)


def with_topic_names(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return `frame` with `topicName` behind its `topicId`; null where the name is not known."""
    columns = frame.columns
    place = columns.index("topicId") + 1
    named = frame.sparkSession.createDataFrame(list(names.items()), "topicId string, topicName string")
    joined = frame.join(sql.broadcast(named), "topicId", "left")
    return joined.select(*columns[:place], "topicName", *columns[place:])


def _is_topic(topic: str, names: Mapping[str, str]) -> Column:
    ids = [topic_id for topic_id, name in names.items() if name == topic]
    if not ids and not _is_topic_id(topic):
        known = ", ".join(sorted(set(names.values()))[:5]) or "none: give its id"
        raise JobFailed(f"no topic {topic!r} is known to this log; known are {known}", ExitCode.NOT_FOUND)
    return sql.col("topic_id").isin(*ids or [topic])


def _is_topic_id(text: str) -> bool:
    try:
        return len(urlsafe_b64decode(f"{text}==")) == _TOPIC_ID_BYTES
    except ValueError:
        return False
