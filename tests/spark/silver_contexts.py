"""Silver rows that are there already, as what a job works with."""

from collections.abc import Mapping, Sequence
from typing import Any

from kproxy.jobs.job import JobContext
from kproxy.jobs.sources.log_reader import LogRange


class NamedTopics:
    """As much of a `LogReader` as an analysis of silver rows asks for."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    name = "silver rows"

    def topic_names(self) -> Mapping[str, str]:
        return self._names

    def ranges(self) -> Sequence[LogRange]:
        return []


class SilverContext(JobContext):
    """A context whose history is `rows`."""

    def __init__(self, rows: Any, names: Mapping[str, str] | None = None) -> None:
        super().__init__(rows.sparkSession, NamedTopics(names or {}), lambda _: None)  # type: ignore[arg-type]
        self._rows = rows

    def silver(self, *, since_ms: int | None = None, until_ms: int | None = None) -> Any:
        rows = self._rows
        if since_ms is not None:
            rows = rows.where(rows.log_ts_ms >= since_ms)
        return rows if until_ms is None else rows.where(rows.log_ts_ms < until_ms)
