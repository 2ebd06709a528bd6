"""What one task makes of its part of a micro-batch: silver rows, and the fold that the next micro-batch continues."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from kproxy.clients.history.silver_rows import SilverRow, SilverWriter
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.folds.carried_folds import CarriedFolds
from kproxy.jobs.folds.folding import log_partitions
from kproxy.jobs.history.silver import batch_of_silver, missing_row, rows_of_batch
from kproxy.statelog.state_log_fold import FoldImage

_FIRST_OFFSET: Final = 0
"""Where a log partition begins that was added after the export began."""


def silver_of_batch(
    batches: Iterator[pa.RecordBatch], *, carried: CarriedFolds, batch: int, begun: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the silver rows of what one task reads of a micro-batch, and keep its folds for the next one."""
    with told_to_driver():
        for number, found in log_partitions(batches):
            image = carried.before(batch, number)
            writer = SilverWriter.after(number, image)
            expected_offset: int | None = expected_after(image, number, begun)
            for records in found:
                yield batch_of_silver([*_missing(records, expected_offset), *rows_of_batch(writer, records)])
                expected_offset = None
            carried.write(batch, number, writer.fold)


def expected_after(image: FoldImage | None, log_partition: int, begun: Mapping[int, int]) -> int:
    """Return the offset that comes next: after the fold, or where the export of the log partition began."""
    return begun.get(log_partition, _FIRST_OFFSET) if image is None else image.applied_offset + 1


def _missing(records: pa.RecordBatch, expected_offset: int | None) -> Iterator[SilverRow]:
    """Yield the row for what is gone between the last micro-batch and this one, if that is to be looked at."""
    place = ("log_partition", "log_offset", "timestamp_ms")
    number, first, timestamp_ms = (records.column(name)[0].as_py() for name in place)
    if expected_offset is not None and first > expected_offset:
        yield missing_row(number, expected_offset, first, timestamp_ms)
