"""Tasks of Spark that read for themselves: no data source stands between what they read and what they make of it."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kproxy.jobs.sources.log_reader import BatchFunction

Asked = TypeVar("Asked")


def slots_of(spark: SparkSession) -> int:
    """Return how many tasks run at once, as far as Spark says; the cores of this machine where it does not."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        return os.cpu_count() or 1


def mapped_by_tasks(
    spark: SparkSession,
    tasks: Sequence[Asked],
    read: Callable[[Asked], Iterator[pa.RecordBatch]],
    function: BatchFunction,
    schema: StructType | str,
) -> DataFrame:
    """Return what `function` makes of what `read` yields for each of `tasks`, as rows of `schema`.

    All three are pickled. The records never pass through the JVM, and its metrics know nothing of them.
    """
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return numbers.mapInArrow(partial(_read_and_map, tasks=tasks, read=read, function=function), schema)


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return what a task reads as it is."""
    return batches


def _read_and_map(
    batches: Iterator[pa.RecordBatch],
    *,
    tasks: Sequence[Asked],
    read: Callable[[Asked], Iterator[pa.RecordBatch]],
    function: BatchFunction,
) -> Iterator[pa.RecordBatch]:
    numbers = (number for batch in batches for number in batch.column(0).to_pylist())
    return function(batch for number in numbers for batch in read(tasks[number]))
