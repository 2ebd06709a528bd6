"""The port of a history, and the history that is decoded from the records of a log."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.history.silver import between, silver_rows
from kproxy.jobs.sources.tracked_log import TrackedLog


class History(Protocol):
    """Silver rows: decoded from a log, or exported before."""

    @property
    def name(self) -> str:
        """The source in words, for error messages."""
        ...

    def rows(self, *, since_ms: int | None = None, until_ms: int | None = None) -> DataFrame:
        """Return rows of SILVER_SCHEMA from `since_ms` on and before `until_ms`, in log time; None is no bound.

        State epochs and outcomes are those of a fold from the beginning of the log, whatever `since_ms` is.
        """
        ...

    def rows_for_lookup(self) -> DataFrame:
        """Return all rows, to look names up in. The closing summary does not list what is read for it."""
        ...

    def cached(self, rows: DataFrame) -> DataFrame:
        """Return `rows`, which are some of this history, so that using them again costs little."""
        ...

    def with_lost_beginning(self, since_ms: int | None) -> Sequence[LogRange]:
        """Return what log partitions hold that begin later than `since_ms`, as their earlier records were deleted."""
        ...

    def topic_names(self) -> Mapping[str, str]:
        """Return the names of consumed topics by their id in Kafka's text form, as far as they are known."""
        ...


class LogHistory:
    """The history of a log, decoded whenever it is read."""

    def __init__(self, log: TrackedLog) -> None:
        self._log = log

    @property
    def name(self) -> str:
        """The log in words."""
        return self._log.name

    def rows(self, *, since_ms: int | None = None, until_ms: int | None = None) -> DataFrame:
        """Return the rows. The log is read from its beginning, whatever `since_ms` is."""
        rows = silver_rows(self._log.records(self._log.ranges(until_ms=until_ms)))
        return between(rows, since_ms, until_ms)

    def rows_for_lookup(self) -> DataFrame:
        """Return all rows."""
        return silver_rows(self._log.records(is_tracked=False))

    def cached(self, rows: DataFrame) -> DataFrame:
        """Return `rows`, kept on the disks of executors: they are decoded once."""
        return rows.persist(StorageLevel.DISK_ONLY)

    def with_lost_beginning(self, since_ms: int | None) -> Sequence[LogRange]:
        """Return what the log partitions hold that have lost records from `since_ms` on."""
        begun = self._log.with_lost_beginning(self._log.ranges())
        if not begun or since_ms is None:
            return begun
        first = {part.partition: part.first_offset for part in self._log.ranges(since_ms=since_ms)}
        return [part for part in begun if first.get(part.partition, 0) <= part.first_offset]

    def topic_names(self) -> Mapping[str, str]:
        """Return the names in the groups topic."""
        return self._log.topic_names()
