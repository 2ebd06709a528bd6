"""Folds of log partitions on executors, by the proxy's own `StateLogFold`.

A task reads whole ranges, one after the other and each in order: it keeps the fold of one log partition at a time.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.folds.claim_columns import claim_epochs
from kproxy.jobs.folds.fold_rows import FOLD_SCHEMA, Counts, batch_of_rows, rows_of_fold
from kproxy.jobs.sources.raw_records import records_of
from kproxy.jobs.sources.tracked_log import TrackedLog
from kproxy.statelog.claims import Claim
from kproxy.statelog.state_log_fold import Outcome, StateLogFold

OnCorrupt = Literal["stop", "skip"]

_IGNORED: Final = frozenset({Outcome.IGNORED_STALE_CLAIM, Outcome.IGNORED_UNCLAIMED})


@dataclass(slots=True)
class PartitionFold:
    """The fold of one log partition, and how many records had which outcome."""

    fold: StateLogFold
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def take(self, batch: pa.RecordBatch) -> list[Outcome]:
        """Fold the records of a batch, all of this log partition; return the outcome of each. Raises as `apply`."""
        epochs = claim_epochs(batch.column("headers"))
        outcomes = self._take_slowly(batch) if epochs is None else self._take(batch, epochs)
        self.outcomes.update(outcomes)
        return outcomes

    def _take(self, batch: pa.RecordBatch, epochs: Sequence[int | None]) -> list[Outcome]:
        names = ("key", "value", "log_offset", "timestamp_ms")
        keys, values, offsets, times = (batch.column(name).to_pylist() for name in names)
        apply = self.fold.apply_message
        return [
            apply(key, value, claim_epoch=claim_epoch, offset=offset, timestamp_ms=timestamp_ms)
            for key, value, claim_epoch, offset, timestamp_ms in zip(
                keys, values, epochs, offsets, times, strict=True
            )
        ]

    def _take_slowly(self, batch: pa.RecordBatch) -> list[Outcome]:
        return [self.fold.apply(record) for _, record in records_of(batch)]

    @property
    def counts(self) -> Counts:
        """How many records there were."""
        return Counts(
            record_count=self.outcomes.total(),
            ignored_count=sum(self.outcomes[outcome] for outcome in _IGNORED),
            corrupt_count=self.outcomes[Outcome.SKIPPED_CORRUPT],
        )


def folded_states(
    log: TrackedLog,
    ranges: Sequence[LogRange],
    *,
    claims: Mapping[int, int] | None = None,
    on_corrupt: OnCorrupt = "stop",
) -> DataFrame:
    """Return the rows of the fold (FOLD_SCHEMA) of each of `ranges`.

    `claims` has the offsets of the claims that are in force before the first record, by log partition.
    """
    fold = partial(fold_batches, claims=dict(claims or {}), on_corrupt=on_corrupt)
    return log.mapped(ranges, fold, FOLD_SCHEMA)


def fold_batches(
    batches: Iterator[pa.RecordBatch], *, claims: Mapping[int, int], on_corrupt: OnCorrupt
) -> Iterator[pa.RecordBatch]:
    """Fold what one task reads; yield the rows of each fold at its end."""
    with told_to_driver(can_skip=on_corrupt == "stop"):
        for number, found in log_partitions(batches):
            folded = PartitionFold(new_fold(claims.get(number), on_corrupt))
            for batch in found:
                folded.take(batch)
            yield batch_of_rows(rows_of_fold(number, folded.fold, folded.counts))


def new_fold(claim_epoch: int | None, on_corrupt: OnCorrupt) -> StateLogFold:
    """Return an empty fold in which the claim of `claim_epoch` is in force; none when it is None."""
    fold = StateLogFold(on_corrupt=on_corrupt)
    if claim_epoch is not None:
        fold.replay(Claim("", 0), claim_epoch=None, offset=claim_epoch, timestamp_ms=0)
    return fold


def log_partitions(
    batches: Iterator[pa.RecordBatch],
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Yield each log partition that a task reads, with its batches in order. Consume them before the next one.

    Raises:
        ValueError: a log partition is read in two pieces; its fold would restart, in silence.
        JobFailed: an offset occurs twice.
    """
    seen = set()
    for number, found in groupby(by_log_partition(batches), key=itemgetter(0)):
        if number in seen:
            raise ValueError(f"a task reads log partition {number} in pieces")
        seen.add(number)
        yield number, _rising(number, (batch for _, batch in found))


def _rising(log_partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and check that offsets rise. Every source sorts them, so one that does not rise is a duplicate."""
    last = np.array([-1])
    for batch in batches:
        offsets = batch.column("log_offset").to_numpy()
        repeated = np.diff(offsets, prepend=last) <= 0
        if repeated.any():
            raise JobFailed(
                f"offset {offsets[repeated.argmax()]} of log partition {log_partition} stands there twice; "
                "give files that do not overlap",
                ExitCode.USAGE,
            )
        last = offsets[-1:]
        yield batch


def by_log_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches that hold records of one log partition each."""
    for batch in batches:
        numbers = batch.column("log_partition").to_numpy()
        start = 0
        while start < len(numbers):
            others = (numbers[start:] != numbers[start]).nonzero()[0]
            end = start + int(others[0]) if len(others) else len(numbers)
            yield int(numbers[start]), batch.slice(start, end - start)
            start = end
