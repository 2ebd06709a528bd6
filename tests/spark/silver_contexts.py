"""Silver rows that are there already, as what a job works with."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark import StorageLevel

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.history.silver import between
from kproxy.jobs.job import JobContext, JobSource
from kproxy.jobs.sources.log_reader import ClusterLog


class SilverRows:
    """A `History` of given rows, with the names of their topics."""

    name = "silver rows"

    def __init__(self, rows: Any, names: Mapping[str, str]) -> None:
        self._rows = rows
        self._names = names

    def rows(self, *, since_ms: int | None = None, until_ms: int | None = None) -> Any:
        return between(self._rows, since_ms, until_ms)

    def rows_for_lookup(self) -> Any:
        return self._rows

    def cached(self, rows: Any) -> Any:
        return rows.persist(StorageLevel.DISK_ONLY)

    def with_lost_beginning(self, since_ms: int | None) -> Sequence[LogRange]:  # noqa: ARG002
        return []

    def topic_names(self) -> Mapping[str, str]:
        return self._names


def silver_context(
    rows: Any, names: Mapping[str, str] | None = None, cluster: ClusterLog | None = None
) -> JobContext:
    """Return a context whose history is `rows`, of a log in `cluster` if there is one."""
    source = JobSource(SilverRows(rows, names or {}), cluster=cluster)
    return JobContext(rows.sparkSession, source, lambda _: None)
