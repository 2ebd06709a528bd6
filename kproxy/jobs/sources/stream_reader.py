"""`kproxy-statelog` as a stream: micro-batches of offset ranges. Needs Spark 4.2."""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.sources.kafka_log import LogTopic
from kproxy.jobs.sources.log_reader import Gap, OnGap, gaps_below, require_no_gap
from kproxy.jobs.sources.packing import packed
from kproxy.jobs.sources.task_partitions import TaskPartition, read_ranges, slots_in

log = logging.getLogger(__name__)

Offsets = dict[str, int]
"""The next offset to read by partition; JSON has no other keys than strings."""


def admitted(start: Mapping[int, int], end: Mapping[int, int], most: int) -> dict[int, int]:
    """Return how far to read from `start` towards `end` when at most `most` records are to be read.

    Each partition gets its share by its lag, at least one record, until `most` is used up: a small lag never waits for
    ever behind a large one.
    """
    lags = {number: max(0, last - start[number]) for number, last in end.items()}
    total, left = sum(lags.values()), most
    reached = {}
    for number in sorted(lags):
        taken = (
            lags[number] if total <= most else min(lags[number], left, max(1, most * lags[number] // total))
        )
        reached[number] = start[number] + taken
        left -= taken
    return reached


class StateLogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the log as it grows. Partitions that are added later are read from their beginning."""

    def __init__(self, topic: LogTopic, options: Mapping[str, str]) -> None:
        self._topic = topic
        self._starting: Final = {
            int(number): int(offset)
            for number, offset in json.loads(options.get("startingOffsets", "{}")).items()
        }
        self._most: Final = int(options.get("maxRecordsPerTrigger", "0"))
        self._on_gap: Final[OnGap] = "report" if options.get("onGap") == "report" else "fail"
        self._slots: Final = slots_in(options)
        self._target: dict[int, int] | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's
        """Return where the stream begins."""
        return _with_text_keys({held.partition: held.first_offset for held in self._held()} | self._starting)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        """Return how much a micro-batch reads."""
        return ReadMaxRows(self._most) if self._most > 0 else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Note where the log ends now: a run of availableNow goes so far and no further."""
        self._target = {held.partition: held.end_offset for held in self._held()}

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802 - Spark's
        """Return how far the next micro-batch reads."""
        held = self._held()
        end = self._target or {part.partition: part.end_offset for part in held}
        first = {part.partition: part.first_offset for part in held}
        begun = {number: start.get(str(number), first.get(number, 0)) for number in end}
        end = {number: max(offset, begun[number]) for number, offset in end.items()}
        return _with_text_keys(
            admitted(begun, end, limit.max_rows) if isinstance(limit, ReadMaxRows) else end
        )

    def reportLatestOffset(self) -> Offsets:  # noqa: N802 - Spark's
        """Return where the log ends now, for the progress of the query."""
        return _with_text_keys({held.partition: held.end_offset for held in self._held()})

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Return what each task of a micro-batch reads. A gap fails the query or is logged, by the option `onGap`.

        A partition that is not in `start` was added since: its records begin at 0.
        """
        held = {part.partition: part for part in self._held()}
        begun = {int(number): start.get(number, 0) for number in end}
        with told_to_driver():
            gaps = _before(end, gaps_below(held.values(), begun))
            require_no_gap(gaps, self._on_gap)
        for gap in gaps:
            log.warning("partition %d, %s", gap.partition, gap.offsets_text)
        ranges = [held[number].within(first, end[str(number)]) for number, first in sorted(begun.items())]
        return [TaskPartition(task) for task in packed(ranges, slots=self._slots)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records that a task reads."""
        assert isinstance(partition, TaskPartition)
        return read_ranges(self._topic, partition.ranges)

    def _held(self) -> Sequence[LogRange]:
        with told_to_driver(), self._topic.consumer() as consumer:
            return consumer.ranges()


def _with_text_keys(offsets: Mapping[Any, int]) -> Offsets:
    return {str(number): offset for number, offset in sorted(offsets.items())}


def _before(end: Offsets, gaps: Iterable[Gap]) -> list[Gap]:
    """Return the gaps as far as they are before the end of a micro-batch."""
    return [replace(gap, end_offset=min(gap.end_offset, end[str(gap.partition)])) for gap in gaps]
