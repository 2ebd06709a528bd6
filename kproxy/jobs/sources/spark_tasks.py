"""Spark tasks that read and map in the same Python worker, without a data source and the JVM in between."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from kproxy.jobs.sources.log_reader import BatchFunction

Task = TypeVar("Task")


def slots_of(spark: SparkSession) -> int:
    """Return how many tasks Spark runs at once; the cores of this machine where Spark does not say (Spark Connect)."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        return os.cpu_count() or 1


def mapped_by_tasks(
    spark: SparkSession,
    tasks: Sequence[Task],
    read: Callable[[Task], Iterator[pa.RecordBatch]],
    function: BatchFunction,
    schema: StructType | str,
) -> DataFrame:
    """Return what `function` makes of what `read` yields for each of `tasks`, as rows of `schema`.

    All three are pickled. The records never pass through the JVM, so Spark's input metrics do not count them.
    """
    numbers = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return numbers.mapInArrow(partial(_read_and_map, tasks=tasks, read=read, function=function), schema)


def unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches as they are: for a task that only reads."""
    return batches


def _read_and_map(
    batches: Iterator[pa.RecordBatch],
    *,
    tasks: Sequence[Task],
    read: Callable[[Task], Iterator[pa.RecordBatch]],
    function: BatchFunction,
) -> Iterator[pa.RecordBatch]:
    numbers = (number for batch in batches for number in batch.column(0).to_pylist())
    return function(batch for number in numbers for batch in read(tasks[number]))
