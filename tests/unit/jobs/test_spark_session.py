from typing import Any

import pytest

from kproxy.jobs.spark_session import suit_shuffles

SHUFFLE_PARTS = "spark.sql.shuffle.partitions"


class InMemorySpark:
    """As much of a session as says what was configured, and by whom: `given` came from the one who submitted."""

    def __init__(self, **given: str) -> None:
        self._given = {name.replace("_", "."): value for name, value in given.items()}
        self._now: dict[str, Any] = {SHUFFLE_PARTS: "200", **self._given}

    @property
    def sparkContext(self) -> "InMemorySpark":  # noqa: N802 - Spark's
        return self

    @property
    def conf(self) -> "InMemorySpark":
        return self

    def getConf(self) -> "Given":  # noqa: N802 - Spark's
        return Given(self._given)

    def set(self, name: str, value: object) -> None:
        self._now[name] = value

    @property
    def shuffle_parts(self) -> int:
        return int(self._now[SHUFFLE_PARTS])


class Given(dict[str, str]):
    """A `SparkConf`."""

    def contains(self, name: str) -> bool:
        return name in self


@pytest.mark.parametrize(
    ("offset_count", "parts"), [(0, 4), (5_000, 4), (1_000_000, 20), (10_000_000, 200), (10**9, 200)]
)
def test_shuffles_are_as_wide_as_the_log_is_long(offset_count: int, parts: int) -> None:
    # Given
    spark = InMemorySpark()

    # When
    suit_shuffles(spark, offset_count)

    # Then
    assert spark.shuffle_parts == parts


def test_a_job_that_reads_more_later_has_wider_shuffles_then() -> None:
    # Given
    spark = InMemorySpark()
    suit_shuffles(spark, 5_000)

    # When
    suit_shuffles(spark, 1_000_000)

    # Then
    assert spark.shuffle_parts == 20


def test_whoever_said_how_wide_shuffles_are_is_obeyed() -> None:
    # Given
    spark = InMemorySpark(spark_sql_shuffle_partitions="64")

    # When
    suit_shuffles(spark, 5_000)

    # Then
    assert spark.shuffle_parts == 64
