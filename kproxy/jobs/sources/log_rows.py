"""A log that Spark holds as rows of RAW_SCHEMA in no order: what the lines and the Parquet of files become."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.log_files import FoundFiles
from kproxy.jobs.sources.log_reader import BatchFunction
from kproxy.jobs.sources.topic_names import NAMES_SCHEMA, named, topic_names_in


class RowLog:
    """The log in files as a `LogReader`. Spark sorts the rows of `read`, which is called once, before they are used.

    `group_records` are rows of RAW_SCHEMA as well, of the groups topic: they name the consumed topics.
    """

    def __init__(
        self,
        found: FoundFiles,
        read: Callable[[], DataFrame],
        *,
        group_records: DataFrame | None = None,
        starts_at_offset_zero: bool = True,
    ) -> None:
        self._found = found
        self._read = read
        self._group_records = group_records
        self.starts_at_offset_zero = starts_at_offset_zero

    @property
    def name(self) -> str:
        """The place of the files, for error messages."""
        return f"files at {self._found.place}"

    @property
    def identity(self) -> str:
        """The files, with sizes and times."""
        return self._found.stamp

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds, found by reading all offsets once."""
        return self._ranges

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return the first offsets written at this time or later. Only times and offsets are read."""
        later = ranges_in(self._rows.where(sql.col("timestamp_ms") >= timestamp_ms))
        ends = {held.partition: held.end_offset for held in self.ranges()}
        return ends | {held.partition: held.first_offset for held in later}

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:  # noqa: ARG002
        """Return the records of `ranges`. They are sorted by log partition, so a range is not cut."""
        return in_log_order(self._rows, ranges)

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped."""
        return self.records(ranges).mapInArrow(function, schema)

    def topic_names(self) -> Mapping[str, str]:
        """Return the names in the records of the groups topic; none without them."""
        if self._group_records is None:
            return {}
        return topic_names_in(self._group_records.mapInArrow(named, NAMES_SCHEMA))

    @cached_property
    def _rows(self) -> DataFrame:
        return self._read()

    @cached_property
    def _ranges(self) -> Sequence[LogRange]:
        return ranges_in(self._rows)


def ranges_in(rows: DataFrame) -> list[LogRange]:
    """Return what each partition of `rows` holds, found by reading the offsets of all."""
    first, last = sql.min("log_offset").alias("first"), sql.max("log_offset").alias("last")
    found = rows.groupBy("log_partition").agg(first, last).collect()
    return sorted(LogRange(row["log_partition"], row["first"], row["last"] + 1) for row in found)


def in_log_order(rows: DataFrame, ranges: Sequence[LogRange]) -> DataFrame:
    """Return those of `rows` that are in `ranges`, each range in one task and in order: this is a shuffle."""
    wanted = sql.lit(False)
    for part in ranges:
        is_inside = sql.col("log_offset").between(part.first_offset, part.end_offset - 1)
        wanted = wanted | ((sql.col("log_partition") == part.partition) & is_inside)
    ordered = rows.where(wanted).repartition("log_partition")
    return ordered.sortWithinPartitions("log_partition", "log_offset")
