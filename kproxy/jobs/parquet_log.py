"""Parquet files with log records, as `export --records` writes them, as a `LogReader`.

Where each record is, is told by the statistics in the footers. When the row groups of every log partition stand in the
order of the log, each is read by one task in that order (`kproxy-statelog-files`); else Spark sorts the records first.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed, told_to_driver
from kproxy.jobs.log_files import FoundFiles, filesystem_of
from kproxy.jobs.log_reader import BatchFunction, LogRange
from kproxy.jobs.raw_records import RAW_ARROW_SCHEMA, RAW_SCHEMA
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


class ParquetLog:
    """The log in Parquet files."""

    def __init__(self, spark: SparkSession, found: FoundFiles) -> None:
        self._spark = spark
        self._found = found
        self._groups = row_groups(found)

    @property
    def name(self) -> str:
        """What is read, in words for people."""
        return f"files at {self._found.place}"

    @property
    def identity(self) -> str:
        """The files, with sizes and times."""
        return self._found.stamp

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds."""
        groups = defaultdict(list)
        for group in self._groups or ():
            groups[group.partition].append(group)
        if self._groups is None:
            return self._ranges_by_reading()
        return [
            LogRange(
                partition,
                min(group.first_offset for group in held),
                max(group.last_offset for group in held) + 1,
            )
            for partition, held in sorted(groups.items())
        ]

    def offsets_at(self, timestamp_ms: int) -> Mapping[int, int]:
        """Return the first offsets written at this time or later. Only times and offsets are read."""
        rows = self._unordered().where(sql.col("timestamp_ms") >= timestamp_ms)
        found = rows.groupBy("log_partition").agg(sql.min("log_offset").alias("first")).collect()
        ends = {held.partition: held.end_offset for held in self.ranges()}
        return ends | {row["log_partition"]: row["first"] for row in found}

    def records(self, ranges: Sequence[LogRange], *, most_per_task: int | None = None) -> DataFrame:
        """Return the records of `ranges`."""
        if self._groups is None:
            return in_log_order(self._unordered(), ranges)
        parts = [part for each in ranges for part in each.parts(most_per_task or max(1, each.length))]
        self._spark.dataSource.register(ParquetLogSource)
        return self._spark.read.format(FORMAT).option("ranges", json.dumps(self._asked(parts))).load()

    def mapped(self, ranges: Sequence[LogRange], function: BatchFunction, schema: str) -> DataFrame:
        """Return the records of `ranges`, mapped: by the worker that reads them, and so the JVM never sees them."""
        asked = self._asked(ranges)
        if self._groups is None or not asked:
            return self.records(ranges).mapInArrow(function, schema)
        tasks = self._spark.range(0, len(asked), 1, len(asked))
        return tasks.mapInArrow(partial(_read_and_map, asked=asked, function=function), schema)

    def _asked(self, parts: Sequence[LogRange]) -> list[Any]:
        """Return each range with its row groups, in a form that JSON has words for."""
        return [[astuple(part), [astuple(group) for group in self._groups_of(part)]] for part in parts]

    def topic_names(self) -> Mapping[str, str]:
        """Return none: the files hold the state topic alone."""
        return {}

    def _groups_of(self, part: LogRange) -> list[RowGroup]:
        return [
            group
            for group in self._groups or ()
            if group.partition == part.partition
            and group.first_offset < part.end_offset
            and group.last_offset >= part.first_offset
        ]

    def _unordered(self) -> DataFrame:
        return self._spark.read.schema(RAW_SCHEMA).parquet(*self._found.uris)

    def _ranges_by_reading(self) -> list[LogRange]:
        return ranges_in(self._unordered())


def ranges_in(rows: DataFrame) -> list[LogRange]:
    """Return what each partition of `rows` holds, found by reading the offsets of all."""
    first, last = sql.min("log_offset").alias("first"), sql.max("log_offset").alias("last")
    found = rows.groupBy("log_partition").agg(first, last).collect()
    return sorted(LogRange(row["log_partition"], row["first"], row["last"] + 1) for row in found)


def in_log_order(rows: DataFrame, ranges: Sequence[LogRange]) -> DataFrame:
    """Return those of `rows` that are in `ranges`, each range in one task and in order: this is a shuffle."""
    wanted = sql.lit(False)
    for part in ranges:
        is_inside = sql.col("log_offset").between(part.first_offset, part.end_offset - 1)
        wanted = wanted | ((sql.col("log_partition") == part.partition) & is_inside)
    ordered = rows.where(wanted).repartition("log_partition")
    return ordered.sortWithinPartitions("log_partition", "log_offset")


def row_groups(found: FoundFiles) -> list[RowGroup] | None:
    """Return the row groups of all files in log order; None when they do not stand in any, or do not say.

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
        return ParquetLogReader(json.loads(self.options["ranges"]))


class ParquetLogReader(DataSourceReader):
    """Reads each range by one task: `[range, row groups in order]` for each."""

    def __init__(self, asked: Sequence[Any]) -> None:
        self._asked = asked

    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges."""
        return [InputPartition(each) for each in self._asked]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range."""
        return _read(partition.value)


def _read_and_map(
    tasks: Iterator[pa.RecordBatch], *, asked: Sequence[Any], function: BatchFunction
) -> Iterator[pa.RecordBatch]:
    numbers = [number for task in tasks for number in task.column(0).to_pylist()]
    return function(batch for number in numbers for batch in _read(asked[number]))


def _read(asked: Any) -> Iterator[pa.RecordBatch]:
    part, groups = asked
    with told_to_driver():
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
