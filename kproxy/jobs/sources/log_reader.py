"""The port of a state log: ranges of offsets, and records as rows. What reads a cluster or files implements it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame

from kproxy.clients.log_ranges import LogRange, PartitionEnd
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """Offsets that were to be read and are gone, from `first_offset` to, not including, `end_offset`; and why."""

    partition: int
    first_offset: int
    end_offset: int
    reason: str

    @property
    def offsets_text(self) -> str:
        """The offsets and the reason, for a line of text."""
        return f"offsets {self.first_offset}-{self.end_offset - 1} are missing: {self.reason}"


OnGap: TypeAlias = Literal["fail", "report"]
"""What to do about records that were deleted before they were read: fail, or report them and read on."""

BatchFunction: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What a task makes of the batches of records that it reads. It must be picklable."""


class LogReader(Protocol):
    """A state log that can be read: a topic of a cluster, or files."""

    @property
    def name(self) -> str:
        """The log in words, for error messages."""
        ...

    @property
    def identity(self) -> str:
        """A text that no other log has, nor the same topic after it was deleted and created again."""
        ...

    @property
    def starts_at_offset_zero(self) -> bool:
        """Whether the first record of every partition had offset 0: one that begins later has lost records."""
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


class ClusterLog(LogReader, Protocol):
    """A state log in a cluster: it grows, and the cluster knows the topics that share groups consume."""

    def stream(self, *, most_per_batch: int | None, on_gap: OnGap) -> DataFrame:
        """Return the log from its beginning, as rows of RAW_SCHEMA, each log partition in order and in one task.

        A micro-batch has at most `most_per_batch` records, over all partitions; None is no limit.
        """
        ...

    def topic_ends(
        self, topics: Mapping[str, str], *, earlier_ms: int
    ) -> Mapping[tuple[str, int], PartitionEnd]:
        """Return by topic id and partition where topics end now, and ended at `earlier_ms`.

        `topics` are names by id in Kafka's text form; one that the cluster no longer has is left out,
        a partition without a leader told as Leaderless. Raises JobFailed.
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


def require_no_gap(gaps: Iterable[Gap], on_gap: OnGap) -> None:
    """Raise JobFailed for the first gap, if there is one: NOT_FOUND. With `report` gaps are no failure."""
    for gap in gaps if on_gap == "fail" else ():
        raise JobFailed(
            f"partition {gap.partition}, {gap.offsets_text}; --on-gap report goes on without them",
            ExitCode.NOT_FOUND,
        )


def gaps_below(ranges: Iterable[LogRange], wanted: Mapping[int, int]) -> list[Gap]:
    """Return what of the log below each range is gone: from the offset `wanted` of its partition on."""
    return [
        Gap(held.partition, wanted[held.partition], held.first_offset, "the log begins later by now")
        for held in ranges
        if wanted.get(held.partition, held.first_offset) < held.first_offset
    ]
