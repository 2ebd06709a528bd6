"""The same rows from every source, and what the executors read of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sql

from kproxy.clients.dump_format import json_of
from kproxy.clients.log_lines import LogTopic, line_of
from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver import silver_rows
from kproxy.jobs.job import JobContext
from kproxy.jobs.result_writer import write_parquet
from kproxy.jobs.source_options import open_files
from kproxy.jobs.sources.dump_log import dump_log
from kproxy.jobs.sources.log_files import find_files
from kproxy.jobs.sources.log_reader import LogReader
from kproxy.jobs.sources.parquet_log import parquet_log
from kproxy.jobs.verify.verify import examine
from tests.spark.log_generator import FIRST_MS, records_of_partition, write_partition

COUNT = 400


def rows_of(frame: Any) -> list[Any]:
    return [
        (*row[:3], bytes(row[3]), bytes(row[4]), [(key, bytes(value)) for key, value in row[5]])
        for row in frame.collect()
    ]


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parquet")
    for number in range(2):
        write_partition(folder, number, COUNT, 3)
    return folder


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("lines") / "dump.jsonl"
    shown = [
        json.dumps(json_of(line_of(LogTopic.STATE, "states", number, record)))
        for number in (1, 0)
        for record in records_of_partition(number, COUNT, 3)
    ]
    file.write_text("\n".join(shown))
    return file


def opened(spark: Any, place: Path) -> LogReader:
    found = find_files(str(place))
    return parquet_log(spark, found) if found.is_parquet else dump_log(spark, found, "groups")


def test_files_of_both_kinds_have_the_same_rows(spark: Any, parquet: Path, lines: Path) -> None:
    # Given
    logs = [opened(spark, place) for place in (parquet, lines)]

    # When
    ranges, other_ranges = (log.ranges() for log in logs)
    rows, other_rows = (rows_of(log.records(log.ranges())) for log in logs)

    # Then
    assert ranges == other_ranges == [LogRange(0, 0, COUNT), LogRange(1, 0, COUNT)]
    assert sorted(rows) == sorted(other_rows)
    assert len(rows) == 2 * COUNT


@pytest.mark.parametrize("kind", ["parquet", "lines"])
def test_a_range_is_in_one_task_and_in_order(spark: Any, kind: str, request: pytest.FixtureRequest) -> None:
    # Given
    log = opened(spark, request.getfixturevalue(kind))

    # When
    rows = log.records([LogRange(0, 10, 200), LogRange(1, 0, 300)])

    # Then
    tasks = rows.selectExpr("spark_partition_id() AS task", "log_partition", "log_offset").collect()
    of_tasks = {number: {row["task"] for row in tasks if row["log_partition"] == number} for number in (0, 1)}
    assert [len(found) for found in of_tasks.values()] == [1, 1]
    for number, span in ((0, range(10, 200)), (1, range(300))):
        assert [row["log_offset"] for row in tasks if row["log_partition"] == number] == list(span)


@pytest.mark.parametrize("kind", ["parquet", "lines"])
def test_a_time_is_an_offset_in_each_partition(spark: Any, kind: str, request: pytest.FixtureRequest) -> None:
    # Given
    log = opened(spark, request.getfixturevalue(kind))
    # When
    offsets = [dict(log.offsets_at(FIRST_MS + millis)) for millis in (0, 37, COUNT)]

    # Then
    assert offsets == [{0: 0, 1: 0}, {0: 37, 1: 37}, {0: COUNT, 1: COUNT}]


def test_parquet_that_stands_in_no_order_is_sorted_first(spark: Any, parquet: Path, tmp_path: Path) -> None:
    # Given
    log = opened(spark, parquet)
    shuffled = log.records(log.ranges()).repartition(3, "timestamp_ms").sortWithinPartitions("value")
    write_parquet(shuffled, tmp_path / "shuffled")

    # When
    again = opened(spark, tmp_path / "shuffled")

    # Then
    assert again.ranges() == log.ranges()
    rows = again.records([LogRange(1, 5, 50)]).collect()
    assert [(row["log_partition"], row["log_offset"]) for row in rows] == [(1, n) for n in range(5, 50)]


def test_a_range_may_be_read_by_several_tasks(spark: Any, parquet: Path) -> None:
    # When
    rows = opened(spark, parquet).records([LogRange(0, 0, COUNT)], most_per_task=150)

    # Then
    assert rows.selectExpr("spark_partition_id() AS task").distinct().count() == 3
    assert rows.count() == COUNT


def test_the_small_partitions_of_a_log_share_a_task(spark: Any, tmp_path: Path) -> None:
    # Given
    for number in range(20):
        write_partition(tmp_path, number, 10, 1)
    log = opened(spark, tmp_path)

    # When
    rows = log.records(log.ranges())

    # Then
    assert rows.select(sql.spark_partition_id()).distinct().count() == 1
    assert len(rows.select("log_partition").distinct().collect()) == 20


@pytest.mark.parametrize("kind", ["parquet", "lines"])
def test_where_nothing_is_asked_for_nothing_is_read(
    spark: Any, kind: str, request: pytest.FixtureRequest
) -> None:
    # When
    rows = opened(spark, request.getfixturevalue(kind)).records([])

    # Then
    assert rows.collect() == []


def input_records(spark: Any) -> dict[int, int]:
    """Return how many records executors have read from sources in each stage so far, by Spark's own metrics."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    gateway = spark.sparkContext._gateway
    store = spark.sparkContext._jsc.sc().statusStore()
    quantiles, statuses = gateway.new_array(gateway.jvm.double, 0), gateway.jvm.java.util.ArrayList()
    stages = store.stageList(None, False, False, quantiles, statuses)
    found = [stages.apply(number) for number in range(stages.size())]
    return {int(stage.stageId()): int(stage.inputRecords()) for stage in found}


def test_executors_read_every_record_and_spark_s_metrics_say_so(spark: Any, parquet: Path) -> None:
    # Given
    log = opened(spark, parquet)
    before = input_records(spark)

    # When
    examine(log.records(log.ranges()), delivery_limit=5).write.format("noop").mode("overwrite").save()

    # Then
    read = input_records(spark)
    assert sum(count for stage, count in read.items() if stage not in before) == 2 * COUNT


def test_exported_history_has_no_records_to_fold(spark: Any, parquet: Path, tmp_path: Path) -> None:
    # Given
    log = opened(spark, parquet)
    write_parquet(silver_rows(log.records(log.ranges())), tmp_path / "silver")
    context = JobContext(spark, open_files(spark, str(tmp_path / "silver"), "groups"), print)

    # When
    with pytest.raises(
        JobFailed, match=r"exported history at .* has no log records, .* needs them"
    ) as refusal:
        _ = context.log

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
