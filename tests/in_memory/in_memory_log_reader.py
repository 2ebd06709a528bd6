"""`InMemoryLogReader`: what a log holds, for what is decided before any record is read."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from kproxy.clients.log_ranges import LogRange


class InMemoryLogReader:
    """Ranges, the offsets of times, and the names of topics by question; it has no Spark to read records with."""

    name = "a log in memory"
    identity = "in memory"

    def __init__(
        self,
        ranges: Sequence[LogRange],
        offsets_by_time: Mapping[int, Mapping[int, int]] | None = None,
        *,
        names: Sequence[Mapping[str, str]] = (),
        starts_at_offset_zero: bool = True,
    ) -> None:
        self.starts_at_offset_zero = starts_at_offset_zero
        self._ranges = ranges
        self._offsets_by_time = offsets_by_time or {}
        self._names = list(names)

    def ranges(self) -> Sequence[LogRange]:
        return self._ranges

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        return self._offsets_by_time[timestamp_ms]

    def topic_names(self) -> Mapping[str, str]:
        return self._names.pop(0)

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> NoReturn:
        raise AssertionError(f"nobody reads {ranges} here, {most_per_task} or all at once")

    def mapped(self, ranges: Sequence[LogRange], function: Any, schema: str) -> NoReturn:
        raise AssertionError(f"nobody makes {schema} of {ranges} here with {function}")
