"""JSON lines of `kproxy log dump` as a `LogReader`."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.types import StringType, StructField, StructType

from kproxy.jobs.sources.dump_lines import rows_of_lines
from kproxy.jobs.sources.log_files import FoundFiles
from kproxy.jobs.sources.log_reader import BatchFunction, LogRange
from kproxy.jobs.sources.log_rows import in_log_order, offsets_in, ranges_in
from kproxy.jobs.sources.raw_records import RAW_SCHEMA
from kproxy.jobs.sources.topic_names import NAMES_SCHEMA, named, topic_names_in

_DUMP_SCHEMA: Final = StructType([StructField("topic", StringType()), *RAW_SCHEMA.fields])


class DumpLog:
    """The log in lines. They are decoded once, and sorted: a dump may hold its partitions in any order.

    Lines of the groups topic may stand among them, or in a file beside: they name the consumed topics.
    """

    def __init__(self, spark: SparkSession, found: FoundFiles, groups_topic: str) -> None:
        self._found = found
        self._groups_topic = groups_topic
        lines = spark.read.text(found.uris)
        self._rows = lines.mapInArrow(rows_of_lines, _DUMP_SCHEMA).persist(StorageLevel.DISK_ONLY)

    @property
    def name(self) -> str:
        """What is read, in words for people."""
        return f"files at {self._found.place}"

    @property
    def identity(self) -> str:
        """The files, with sizes and times."""
        return self._found.stamp

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds."""
        return ranges_in(self._state())

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return the first offsets written at this time or later."""
        return offsets_in(self._state(), timestamp_ms)

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:  # noqa: ARG002
        """Return the records of `ranges`. Lines are sorted as they are read, so a part would gain nothing."""
        return in_log_order(self._state(), ranges)

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped."""
        return self.records(ranges).mapInArrow(function, schema)

    def topic_names(self) -> Mapping[str, str]:
        """Return the names that lines of the groups topic tell."""
        rows = self._rows.where(sql.col("topic") == self._groups_topic).drop("topic")
        return topic_names_in(rows.mapInArrow(named, NAMES_SCHEMA))

    def _state(self) -> DataFrame:
        return self._rows.where(sql.col("topic") != self._groups_topic).drop("topic")
