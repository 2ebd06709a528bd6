"""Files with the earlier record forms of KIP-932 as a `LogReader`: after translation they are a log like any other."""

from collections.abc import Iterator
from functools import partial
from io import TextIOWrapper
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import SparkSession

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.sources.early_records import EarlyForm, translated
from kproxy.jobs.sources.local_rows import local_frame
from kproxy.jobs.sources.log_files import FoundFiles, filesystem_of
from kproxy.jobs.sources.log_rows import RowLog
from kproxy.jobs.sources.raw_records import RAW_SCHEMA, batch_of
from kproxy.jobs.sources.spark_tasks import slots_of
from kproxy.jobs.spark_session import ROWS_PER_ARROW_BATCH

_FILES_SCHEMA: Final = pa.schema([("log_partition", pa.int32()), ("path", pa.string())])


def early_log(spark: SparkSession, found: FoundFiles, form: EarlyForm) -> RowLog:
    """Return the log of the files in order of their names: each is a log partition, and read by one task.

    A share-partition's records are in one file, in the order in which they were written. They were written among
    other records of their topic, so the first offset of a file may be any.
    """
    files = ({"log_partition": number, "path": path} for number, path in enumerate(found.paths))
    few = min(len(found.paths), slots_of(spark))
    spread = local_frame(spark, files, _FILES_SCHEMA).repartition(few, "log_partition")
    rows = spread.mapInArrow(partial(_rows, form=form), RAW_SCHEMA).persist(StorageLevel.DISK_ONLY)
    return RowLog(found, lambda: rows, starts_at_offset_zero=False)


def _rows(batches: Iterator[pa.RecordBatch], *, form: EarlyForm) -> Iterator[pa.RecordBatch]:
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
