"""A state log as jobs read it: by times as well as by offsets, with an account of what was read."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.log_reader import BatchFunction, LogReader
from kproxy.jobs.spark_session import suit_shuffles


class TrackedLog:
    """What `reader` reads. `ranges_read` is for the closing summary."""

    def __init__(self, spark: SparkSession, reader: LogReader) -> None:
        self.spark = spark
        self.ranges_read: list[LogRange] = []
        self._reader = reader

    @property
    def name(self) -> str:
        """The log in words, for error messages."""
        return self._reader.name

    @property
    def identity(self) -> str:
        """As `LogReader.identity`."""
        return self._reader.identity

    def ranges(self, *, since_ms: int | None = None, until_ms: int | None = None) -> list[LogRange]:
        """Return what the log holds from `since_ms` on and before `until_ms`, in log time; None is no bound."""
        held = self._reader.ranges()
        first = {} if since_ms is None else self._reader.offsets_at(since_ms)
        end = {} if until_ms is None else self._reader.offsets_at(until_ms)
        return [
            part.within(
                first.get(part.partition, part.first_offset), end.get(part.partition, part.end_offset)
            )
            for part in held
        ]

    def with_lost_beginning(self, ranges: Sequence[LogRange]) -> list[LogRange]:
        """Return those of `ranges`, which begin where the log does, whose partitions have lost earlier records."""
        return [part for part in ranges if part.first_offset > 0 and self._reader.starts_at_offset_zero]

    def records(self, ranges: Sequence[LogRange] | None = None, *, is_tracked: bool = True) -> DataFrame:
        """Return the log records of `ranges`, of the whole log by default, as rows of RAW_SCHEMA."""
        wanted = self._prepared(self.ranges() if ranges is None else ranges, is_tracked=is_tracked)
        return self._reader.records(wanted)

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return what `function` makes of the records of each range, each in one task, as rows of `schema`."""
        return self._reader.mapped(self._prepared(ranges), function, schema)

    def topic_names(self) -> Mapping[str, str]:
        """Return the names of consumed topics by their id in Kafka's text form. The log is read once for them."""
        return self._topic_names

    def _prepared(self, ranges: Sequence[LogRange], *, is_tracked: bool = True) -> list[LogRange]:
        """Return the ranges that hold anything; make shuffles as wide as they need."""
        wanted = [part for part in ranges if part.length]
        if is_tracked:
            self.ranges_read += wanted
        suit_shuffles(self.spark, sum(part.length for part in wanted))
        return wanted

    @cached_property
    def _topic_names(self) -> Mapping[str, str]:
        return self._reader.topic_names()
