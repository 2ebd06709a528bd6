"""Folds of log partitions on executors, by the proxy's own `StateLogFold`.

A task reads whole ranges, each in order; so a fold per log partition is all the state that a task has.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from kproxy.jobs.claim_columns import claim_epochs
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.fold_rows import FOLD_SCHEMA, Counts, batch_of_rows, rows_of_fold
from kproxy.jobs.job import JobContext
from kproxy.jobs.log_reader import LogRange
from kproxy.jobs.raw_records import records_of
from kproxy.statelog.claims import Claim
from kproxy.statelog.fold import Outcome, StateLogFold

OnCorrupt = Literal["stop", "skip"]

_IGNORED: Final = frozenset({Outcome.IGNORED_STALE_CLAIM, Outcome.IGNORED_UNCLAIMED})


@dataclass(slots=True)
class PartitionFold:
    """The fold of one log partition, and how many records had which outcome."""

    fold: StateLogFold
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def take(self, batch: pa.RecordBatch) -> list[Outcome]:
        """Fold the records of a batch, all of this log partition; return what became of each. Raises as `apply`."""
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
    context: JobContext,
    ranges: Sequence[LogRange],
    *,
    claims: Mapping[int, int] | None = None,
    on_corrupt: OnCorrupt = "stop",
) -> DataFrame:
    """Return the rows of the fold (FOLD_SCHEMA) of each of `ranges`.

    `claims` has the offsets of the claims that are in force before the first record, by log partition.
    """
    fold = partial(fold_batches, claims=dict(claims or {}), on_corrupt=on_corrupt)
    return context.mapped(ranges, fold, FOLD_SCHEMA)


def fold_batches(
    batches: Iterator[pa.RecordBatch], *, claims: Mapping[int, int], on_corrupt: OnCorrupt
) -> Iterator[pa.RecordBatch]:
    """Fold what one task reads; yield the rows of its folds at the end."""
    folds: dict[int, PartitionFold] = {}
    with told_to_driver():
        for number, batch in by_log_partition(batches):
            if number not in folds:
                folds[number] = PartitionFold(new_fold(claims.get(number), on_corrupt))
            folds[number].take(batch)
        for number, folded in folds.items():
            yield batch_of_rows(rows_of_fold(number, folded.fold, folded.counts))


def new_fold(claim_epoch: int | None, on_corrupt: OnCorrupt) -> StateLogFold:
    """Return a fold that knows nothing but, unless it is None, the claim in force."""
    fold = StateLogFold(on_corrupt=on_corrupt)
    if claim_epoch is not None:
        fold.replay(Claim("", 0), claim_epoch=None, offset=claim_epoch, timestamp_ms=0)
    return fold


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
