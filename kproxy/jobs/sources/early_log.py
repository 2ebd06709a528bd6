"""Files with the earlier record forms of KIP-932 as a `LogReader`: after translation they are a log like any other."""

from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.sources.early_records import EarlyForm, translated
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.log_files import FoundFiles, filesystem_of
from kproxy.jobs.sources.log_reader import BatchFunction, LogRange
from kproxy.jobs.sources.log_rows import in_log_order, offsets_in, ranges_in
from kproxy.jobs.sources.raw_records import RAW_SCHEMA, batch_of
from kproxy.jobs.sources.spark_tasks import slots_of
from kproxy.jobs.spark_session import ROWS_PER_ARROW_BATCH

_FILES_SCHEMA: Final = pa.schema([("log_partition", pa.int32()), ("path", pa.string())])


class EarlyLog:
    """The files in order of their names, each a log partition and read by one task.

    A share-partition's records stand in one file, in the order in which they were written.
    """

    def __init__(self, spark: SparkSession, found: FoundFiles, form: EarlyForm) -> None:
        self._found = found
        files = ({"log_partition": number, "path": path} for number, path in enumerate(found.paths))
        few = min(len(found.paths), slots_of(spark))
        spread = local_frame(spark, files, _FILES_SCHEMA).repartition(few, "log_partition")

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _rows(batches, form)

        self._rows = spread.mapInArrow(rows, RAW_SCHEMA).persist(StorageLevel.DISK_ONLY)

    @property
    def name(self) -> str:
        """What is read, in words for people."""
        return f"files at {self._found.place}"

    @property
    def identity(self) -> str:
        """The files, with sizes and times."""
        return self._found.stamp

    def ranges(self) -> Sequence[LogRange]:
        """Return what each file holds. A file that begins at an offset above 0 is not short of anything."""
        return ranges_in(self._rows)

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return the first offsets written at this time or later."""
        return offsets_in(self._rows, timestamp_ms)

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:  # noqa: ARG002
        """Return the records of `ranges`. Lines are read in order only, so a part would gain nothing."""
        return in_log_order(self._rows, ranges)

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped."""
        return self.records(ranges).mapInArrow(function, schema)

    def topic_names(self) -> Mapping[str, str]:
        """Return none: the records name ids, or nothing."""
        return {}


def _rows(batches: Iterator[pa.RecordBatch], form: EarlyForm) -> Iterator[pa.RecordBatch]:
    with told_to_driver():
        for batch in batches:
            for partition, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield from _rows_of_file(partition, path, form)


def _rows_of_file(partition: int, path: str, form: EarlyForm) -> Iterator[pa.RecordBatch]:
    system, inner = filesystem_of(path)
    with system.open_input_stream(inner) as stream, TextIOWrapper(stream, encoding="utf-8") as lines:
        records = translated(lines, form)
        try:
            while part := list(islice(records, ROWS_PER_ARROW_BATCH)):
                yield batch_of(partition, part)
        except UnicodeDecodeError as failure:
            raise JobFailed(
                f"{path} holds bytes that are no UTF-8: {failure.reason}", ExitCode.USAGE
            ) from failure
