"""Parquet files with log records, as `export --records` writes them, as a `LogReader`.

The statistics in the footers say which offsets are in which row group. When the row groups of every log partition stand
in the order of the log, tasks read them in that order (`kproxy-statelog-files`); else Spark sorts the records first.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.sources.log_files import FoundFiles, filesystem_of
from kproxy.jobs.sources.log_reader import BatchFunction
from kproxy.jobs.sources.log_rows import RowLog
from kproxy.jobs.sources.packing import packed
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, RAW_SCHEMA
from kproxy.jobs.sources.spark_tasks import mapped_by_tasks, slots_of
from kproxy.jobs.spark_session import ROWS_PER_ARROW_BATCH

FORMAT: Final = "kproxy-statelog-files"


@dataclass(frozen=True, slots=True, order=True)
class RowGroup:
    """A row group of a file, and the offsets of a log partition in it, both ends inclusive."""

    partition: int
    first_offset: int
    last_offset: int
    path: str
    number: int


def parquet_log(spark: SparkSession, found: FoundFiles) -> RowLog:
    """Return the log in Parquet files, by the shortest way to read it.

    Raises JobFailed when a file is not Parquet, or does not hold log records.
    """
    groups = row_groups(found)

    def read() -> DataFrame:
        return spark.read.schema(RAW_SCHEMA).parquet(*found.uris)

    return RowLog(found, read) if groups is None else ParquetLog(spark, found, read, groups)


class ParquetLog(RowLog):
    """Parquet whose row groups stand in the order of the log: each task reads its own, and nothing is sorted."""

    def __init__(
        self,
        spark: SparkSession,
        found: FoundFiles,
        read: Callable[[], DataFrame],
        groups: Sequence[RowGroup],
    ) -> None:
        super().__init__(found, read)
        self._spark = spark
        self._groups = groups

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds, by the footers alone."""
        groups = defaultdict(list)
        for group in self._groups:
            groups[group.partition].append(group)
        return [
            LogRange(
                partition,
                min(group.first_offset for group in held),
                max(group.last_offset for group in held) + 1,
            )
            for partition, held in sorted(groups.items())
        ]

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:
        """Return the records of `ranges`."""
        self._spark.dataSource.register(ParquetLogSource)
        tasks = json.dumps(self._tasks(ranges, most_per_task))
        return self._spark.read.format(FORMAT).option("tasks", tasks).load()

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped: by the worker that reads them, and so the JVM never sees them."""
        return mapped_by_tasks(self._spark, self._tasks(ranges, None), _read, function, schema)

    def _tasks(self, ranges: Sequence[LogRange], most_per_task: int | None) -> "list[_TaskParts]":
        """Return the ranges of each task with their row groups, as lists and numbers for JSON."""
        tasks = packed(ranges, slots=slots_of(self._spark), most_per_task=most_per_task)
        return [
            [[astuple(part), [astuple(group) for group in self._groups_of(part)]] for part in task]
            for task in tasks
        ]

    def _groups_of(self, part: LogRange) -> list[RowGroup]:
        return [
            group
            for group in self._groups
            if group.partition == part.partition
            and group.first_offset < part.end_offset
            and group.last_offset >= part.first_offset
        ]


def row_groups(found: FoundFiles) -> list[RowGroup] | None:
    """Return the row groups of all files in log order; None when they are not in that order, or have no statistics.

    Raises JobFailed when a file is not Parquet, or does not hold log records.
    """
    groups = [group for path in found.paths for group in _row_groups_of(path)]
    if any(group is None for group in groups):
        return None
    known = sorted(group for group in groups if group is not None)
    in_order = all(
        before.partition != after.partition or before.last_offset < after.first_offset
        for before, after in pairwise(known)
    )
    return known if in_order else None


def _row_groups_of(path: str) -> Iterator[RowGroup | None]:
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        if missing := set(RAW_ARROW_SCHEMA.names) - set(names):
            raise JobFailed(f"{path} holds no log records: no column {min(missing)}", ExitCode.USAGE)
        partition_column, offset_column = names.index("log_partition"), names.index("log_offset")
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            if group.num_rows:
                yield _row_group(path, number, group.column(partition_column), group.column(offset_column))


def _row_group(path: str, number: int, partitions: Any, offsets: Any) -> RowGroup | None:
    if not (partitions.is_stats_set and offsets.is_stats_set):
        return None
    if partitions.statistics.min != partitions.statistics.max:
        return None
    return RowGroup(partitions.statistics.min, offsets.statistics.min, offsets.statistics.max, path, number)


def open_parquet(path: str) -> Any:
    """Open a file. Raises JobFailed when it is no Parquet."""
    system, inner = filesystem_of(path)
    try:
        return pq.ParquetFile(inner, filesystem=system)
    except (OSError, pa.ArrowException) as failure:
        raise JobFailed(f"{path} is no Parquet file: {failure}", ExitCode.USAGE) from failure


class ParquetLogSource(DataSource):
    """`spark.read.format("kproxy-statelog-files")`: row groups in the order of the log."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> StructType:
        """Return what every reader of the log yields."""
        return RAW_SCHEMA

    def reader(self, schema: StructType) -> "ParquetLogReader":  # noqa: ARG002 - Spark's signature
        """Return the reader."""
        return ParquetLogReader(json.loads(self.options["tasks"]))


class ParquetLogReader(DataSourceReader):
    """Reads ranges, each whole in one task, one after the other and in order."""

    def __init__(self, tasks: "Sequence[_TaskParts]") -> None:
        self._tasks = tasks

    def partitions(self) -> Sequence[InputPartition]:
        """Return what each task reads. Spark starts one task even for no ranges."""
        return [InputPartition(task) for task in self._tasks or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records that a task reads."""
        return _read(partition.value)


_TaskParts: TypeAlias = list[Any]
"""What a task reads: of each range the range itself, and its row groups in order."""


def _read(parts: _TaskParts) -> Iterator[pa.RecordBatch]:
    with told_to_driver():
        for part, groups in parts:
            yield from read_row_groups(LogRange(*part), [RowGroup(*group) for group in groups])


def read_row_groups(part: LogRange, groups: Sequence[RowGroup]) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range out of its row groups. Raises JobFailed when they are out of order."""
    last = part.first_offset - 1
    for group in groups:
        with open_parquet(group.path) as file:
            for batch in file.iter_batches(
                ROWS_PER_ARROW_BATCH, row_groups=[group.number], columns=RAW_ARROW_SCHEMA.names
            ):
                wanted = _inside(batch, part)
                if wanted.num_rows:
                    last = _require_order(wanted, last, group.path)
                    yield wanted


def _inside(batch: pa.RecordBatch, part: LogRange) -> pa.RecordBatch:
    columns = batch.select(RAW_ARROW_SCHEMA.names).cast(RAW_ARROW_SCHEMA)
    offsets = columns.column("log_offset")
    bounds = pc.min_max(offsets).as_py()
    if bounds["min"] is None or (bounds["min"] >= part.first_offset and bounds["max"] < part.end_offset):
        return columns
    is_inside = pc.and_(pc.greater_equal(offsets, part.first_offset), pc.less(offsets, part.end_offset))
    return columns.filter(is_inside)


def _require_order(batch: pa.RecordBatch, last: int, path: str) -> int:
    """Return the last offset of a batch. Raises JobFailed unless the offsets rise from `last`."""
    offsets = batch.column("log_offset").to_numpy()
    if offsets[0] <= last or (offsets[1:] <= offsets[:-1]).any():
        raise JobFailed(f"{path}: the records do not stand in the order of their offsets")
    return int(offsets[-1])
