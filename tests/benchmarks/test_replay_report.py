from pathlib import Path

import pytest

from tests.benchmarks.background import CORES_OF_OTHERS
from tests.benchmarks.replay_report import CPU, RATE, SECONDS, THOUSANDS, Question, SourceName, result
from tests.benchmarks.workload import Measurements


def measured(*, rate: float = 200_000) -> Measurements:
    """A replay that takes a second and what the rate says, and another second for 20,000 share-partitions."""
    measurements = Measurements()

    def add(question: Question, place: str, records: int, seconds: float) -> None:
        values = {SECONDS: seconds, RATE: records / seconds, THOUSANDS: records / seconds / 1_000}
        measurements.add(question.value, place, {**values, CPU: 2.0, CORES_OF_OTHERS: 0.1})

    for name in SourceName:
        share = 1 if name.value.startswith("Parquet") else 0.5
        add(Question.SOURCE, name.value, 1_000_000, 1_000_000 / (share * rate))
    for length in (10_000, 1_000_000, 3_000_000):
        add(Question.LENGTH, str(length), length, 1 + length / rate)
    for count in (8, 40_000):
        add(Question.SHARE_PARTITIONS, str(count), 1_000_000, 6 + count / 20_000)
    return measurements


def test_files_have_a_bar_by_kind_and_by_length() -> None:
    # When
    bars = result("replay", {}, measured()).values["bars"]

    # Then
    assert [(bar["title"], bar["limit"], bar["met"]) for bar in bars] == [
        ("state-at over Parquet", "at least 150 thousand records/s", True),
        ("state-at over JSON lines", "at least 150 thousand records/s", False),
        ("state-at over Parquet, 3,000,000 records", "at least 150 thousand records/s", True),
    ]


def test_the_lines_are_those_that_the_times_lie_on() -> None:
    # When
    lines = result("replay", {}, measured()).values["lines"]

    # Then
    length, share_partitions = lines["log length"], lines["number of share-partitions"]
    assert (length["at_zero"], length["slope"], length["explained"]) == pytest.approx((1, 5e-6, 1))
    assert (share_partitions["at_zero"], share_partitions["slope"]) == pytest.approx((6, 5e-5))


def test_a_source_is_compared_with_files_on_the_same_spark() -> None:
    # When
    table, *_ = result("replay", {}, measured()).tables

    # Then
    assert [(row[0], row[2]) for row in table.rows] == [
        ("Parquet", "-"),
        ("JSON lines", "0.50 [0.50, 0.50]"),
        ("Kafka, source in Python", "0.50 [0.50, 0.50]"),
        ("Parquet, Spark 4.0.0", "-"),
        ("Kafka, source in the JVM, Spark 4.0.0", "0.50 [0.50, 0.50]"),
    ]


def test_the_picture_is_a_small_png_file(tmp_path: Path) -> None:
    # Given
    draw = result("replay", {}, measured()).draw
    assert draw is not None

    # When
    draw(tmp_path / "replay.png")

    # Then
    picture = (tmp_path / "replay.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000
