"""Where log records come from: one interface, the same rows from all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import pyarrow as pa
from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True, order=True)
class LogRange:
    """Offsets of a log partition, from `first_offset` to, not including, `end_offset`. There may be holes."""

    partition: int
    first_offset: int
    end_offset: int

    @property
    def length(self) -> int:
        """How many offsets there are; records may be fewer."""
        return max(0, self.end_offset - self.first_offset)

    def within(self, first_offset: int, end_offset: int) -> "LogRange":
        """Return what of the range lies in `first_offset` to, not including, `end_offset`; it may be empty."""
        first = max(self.first_offset, first_offset)
        return LogRange(self.partition, first, max(first, min(self.end_offset, end_offset)))

    def parts(self, most: int) -> "list[LogRange]":
        """Return the range in parts of at most `most` offsets."""
        starts = range(self.first_offset, self.end_offset, most)
        return [LogRange(self.partition, start, min(start + most, self.end_offset)) for start in starts]


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """Offsets that were asked for and are gone, from `first_offset` to, not including, `end_offset`; and why."""

    partition: int
    first_offset: int
    end_offset: int
    reason: str


BatchFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task makes of the batches of records that it reads. It must be picklable."""


class LogReader(Protocol):
    """A state log that can be read: of a cluster, or of files."""

    @property
    def name(self) -> str:
        """What is read, in words for people."""
        ...

    @property
    def identity(self) -> str:
        """What tells this log from every other, and a log that was made anew from the one before."""
        ...

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds now, ascending; empty ones as well. Raises JobFailed."""
        ...

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return, by partition, the first offset written at `timestamp_ms` or later; its end when there is none."""
        ...

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:
        """Return the records of `ranges` as rows of RAW_SCHEMA.

        Each range is whole in one task, in order of offsets. A task may read several, one after the other: small
        ranges share one, a big one has its own. With `most_per_task` no task reads more offsets than that, and longer
        ranges are cut; lines of a dump are not. Reading fails when records of a range are gone.
        """
        ...

    def mapped(self, ranges: Sequence[LogRange], function: "BatchFunction", schema: str) -> DataFrame:
        """Return what `records(ranges).mapInArrow(function, schema)` does, by the shortest way."""
        ...

    def topic_names(self) -> Mapping[str, str]:
        """Return the names of consumed topics by their id in Kafka's text form, as far as they are known."""
        ...


@dataclass(frozen=True, slots=True)
class TopicEnd:
    """Where a partition of a consumed topic ended: when it was asked, and at an earlier time. Both are exclusive."""

    end_offset: int
    earlier_end_offset: int


@runtime_checkable
class KnowsTopics(Protocol):
    """A `LogReader` that can ask the cluster about the topics that share groups consume."""

    def topic_ends(self, topics: Mapping[str, str], *, earlier_ms: int) -> Mapping[tuple[str, int], TopicEnd]:
        """Return by topic id and partition where topics end now, and ended at `earlier_ms`.

        `topics` are names by id in Kafka's text form; one that the cluster has no more is left out. Raises JobFailed.
        """
        ...


def ranges_between(
    start: Mapping[int, int], end: Mapping[int, int], held: Iterable[LogRange]
) -> list[LogRange]:
    """Return what was read from `start` up to `end` of a log that then held `held`, without what was gone from it.

    A partition that is in neither `start` nor `held` was added later, and read from its beginning.
    """
    first = {part.partition: part.first_offset for part in held}
    begun = {number: max(start.get(number, 0), first.get(number, 0)) for number in end}
    return [LogRange(number, begun[number], last) for number, last in end.items() if last > begun[number]]


def gaps_below(ranges: Iterable[LogRange], wanted: Mapping[int, int]) -> list[Gap]:
    """Return what of the log below each range is gone: from the offset `wanted` of its partition on."""
    return [
        Gap(held.partition, wanted[held.partition], held.first_offset, "the log begins later by now")
        for held in ranges
        if wanted.get(held.partition, held.first_offset) < held.first_offset
    ]
