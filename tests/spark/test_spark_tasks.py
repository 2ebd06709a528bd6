import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkAttributeError

from kproxy.jobs.sources.spark_tasks import mapped_by_tasks, slots_of, unchanged

pytestmark = pytest.mark.spark


def letters_of(word: str) -> Iterator[pa.RecordBatch]:
    for letter in word:
        yield pa.RecordBatch.from_pydict({"letter": [letter]})


def test_every_task_reads_what_it_is_asked_for_in_order(spark: Any) -> None:
    # When
    rows = mapped_by_tasks(spark, ["abc", "", "de"], letters_of, unchanged, "letter string")

    # Then
    found = rows.selectExpr("spark_partition_id() AS task", "letter").collect()
    assert [(row["task"], row["letter"]) for row in found] == [
        (0, "a"),
        (0, "b"),
        (0, "c"),
        (2, "d"),
        (2, "e"),
    ]


def test_without_tasks_there_are_no_rows(spark: Any) -> None:
    # When
    rows = mapped_by_tasks(spark, [], letters_of, unchanged, "letter string")

    # Then
    assert (rows.columns, rows.collect()) == (["letter"], [])


def test_a_local_spark_runs_as_many_tasks_as_it_has_cores(spark: Any) -> None:
    # When
    slots = slots_of(spark)

    # Then
    assert slots == 2


class FarAwaySpark:
    """A session of Spark Connect, which tells nothing of the cluster."""

    @property
    def sparkContext(self) -> None:  # noqa: N802 - Spark's
        raise PySparkAttributeError("it is far away")


def test_a_spark_that_does_not_say_how_many_cores_it_has_is_taken_for_this_machine() -> None:
    # When
    slots = slots_of(FarAwaySpark())

    # Then
    assert slots == os.cpu_count()
