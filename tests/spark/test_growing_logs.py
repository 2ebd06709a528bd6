"""Exports of a log that grows, and loses its beginning, from one run to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.datasource import DataSource, DataSourceStreamReader
from pyspark.sql.types import StructType

from kproxy.clients.history.silver_rows import CORRUPT
from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.export import export
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.history.silver import MISSING
from kproxy.jobs.job import JobContext, JobResult, JobSource
from kproxy.jobs.sources.log_reader import OnGap
from kproxy.jobs.sources.raw_records import RAW_SCHEMA, batch_of
from kproxy.jobs.sources.stream_reader import StateLogStreamReader
from kproxy.jobs.spark_session import spark_failures
from kproxy.wire.records import Record
from tests.in_memory.in_memory_log_reader import InMemoryLogReader
from tests.in_memory.in_memory_topic import InMemoryTopic
from tests.spark.kafka_logs import silver_at
from tests.spark.replays import answer_of, replay, summary_of
from tests.worlds.histories import FIRST_MS, KEYS, History

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.soak]

UNKNOWN_RECORD: Final = Record(b"\x00\x09", b"?")


class GrowingLog(InMemoryLogReader):
    """A log whose records a stream finds in a folder: what a test appends, without what expired before it was read."""

    def __init__(self, spark: Any, folder: Path) -> None:
        super().__init__([])
        self._spark = spark
        self._folder = folder
        folder.mkdir()

    def holds(self, *ranges: LogRange) -> None:
        self._ranges = ranges

    def append(self, partition: int, records: Sequence[Record]) -> None:
        table = pa.Table.from_batches([batch_of(partition, records)])
        pq.write_table(table, self._folder / f"{partition}-{records[0].offset}.parquet")

    def stream(self, *, most_per_batch: int | None, on_gap: str) -> Any:
        assert (most_per_batch, on_gap) in ((None, "fail"), (None, "report"))
        return self._spark.readStream.schema(RAW_SCHEMA).parquet(str(self._folder))

    def topic_ends(self, topics: Mapping[str, str], *, earlier_ms: int) -> NoReturn:
        raise AssertionError(f"nobody asks where {topics} end, or ended at {earlier_ms}")


class TwoOfThree(DataSource):
    """kproxy's source in Python, of a topic that has lost its first record."""

    @classmethod
    def name(cls) -> str:
        return "two-of-three"

    def schema(self) -> StructType:
        return RAW_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 - Spark's
        topic = InMemoryTopic(LogRange(0, 1, 3), records=snapshots(3))
        return StateLogStreamReader(topic, {"startingOffsets": '{"0": 0}'})


class TopicThatLost(GrowingLog):
    """A log with the same source, which has not lost anything as far as it knows before it is read."""

    def stream(self, *, most_per_batch: int | None, on_gap: str) -> Any:
        assert (most_per_batch, on_gap) == (None, "fail")
        self._spark.dataSource.register(TwoOfThree)
        return self._spark.readStream.format("two-of-three").load()


def snapshots(count: int) -> list[Record]:
    history = History()
    for _ in range(count):
        history.snapshot(KEYS[0])
    return history.records


@pytest.fixture
def log(spark: Any, tmp_path: Path) -> GrowingLog:
    return GrowingLog(spark, tmp_path / "log")


def exported(spark: Any, log: GrowingLog, to: Path, on_gap: OnGap = "report") -> tuple[JobContext, JobResult]:
    context = JobContext(spark, JobSource.of_cluster(spark, log), print)
    with spark_failures():
        result = export.run(
            context,
            to=str(to),
            records=False,
            checkpoint=None,
            continuous=None,
            max_records_per_batch=None,
            on_gap=on_gap,
        )
    return context, result


@pytest.mark.parametrize("at_first", [[LogRange(0, 0, 2), LogRange(1, 0, 0)], [LogRange(0, 0, 2)]])
def test_what_expires_of_a_partition_before_anything_of_it_was_exported_is_reported(
    spark: Any, log: GrowingLog, tmp_path: Path, at_first: Sequence[LogRange]
) -> None:
    # Given
    log.holds(*at_first)
    log.append(0, snapshots(2))
    exported(spark, log, tmp_path / "history")
    log.holds(LogRange(0, 0, 2), LogRange(1, 5, 8))
    log.append(1, snapshots(8)[5:])

    # When
    context, result = exported(spark, log, tmp_path / "history")

    # Then
    (missing,) = (row for row in silver_at(tmp_path / "history") if row["kind"] == MISSING)
    assert (missing["log_partition"], missing["first_offset"], missing["last_offset"]) == (1, 0, 4)
    assert [(gap.partition, gap.first_offset, gap.end_offset) for gap in context.report.gaps] == [(1, 0, 5)]
    assert context.ranges_read == [LogRange(1, 5, 8)]
    assert (result.extra["rows"], context.report.summary["corrupt"]) == (4, 0)


def test_what_expired_and_left_nothing_behind_is_reported_as_well(
    spark: Any, log: GrowingLog, tmp_path: Path
) -> None:
    # Given
    log.holds(LogRange(0, 0, 0))
    exported(spark, log, tmp_path / "history")
    log.holds(LogRange(0, 4, 4))

    # When
    context, _ = exported(spark, log, tmp_path / "history")

    # Then
    assert [(gap.partition, gap.first_offset, gap.end_offset) for gap in context.report.gaps] == [(0, 0, 4)]


def test_an_export_that_fails_on_gaps_fails_before_anything_is_written(
    spark: Any, log: GrowingLog, tmp_path: Path
) -> None:
    # Given
    log.holds(LogRange(0, 0, 0))
    exported(spark, log, tmp_path / "history", "fail")
    log.holds(LogRange(0, 5, 8))
    log.append(0, snapshots(8)[5:])

    # When
    with pytest.raises(JobFailed, match=r"^partition 0, offsets 0-4 are missing: .* goes on") as failure:
        exported(spark, log, tmp_path / "history", "fail")

    # Then
    assert failure.value.exit_code is ExitCode.NOT_FOUND
    assert silver_files(tmp_path / "history") == []


def test_a_gap_that_the_stream_itself_finds_is_one_line_too(spark: Any, tmp_path: Path) -> None:
    # Given
    log = TopicThatLost(spark, tmp_path / "log")
    log.holds(LogRange(0, 0, 3))

    # When
    with pytest.raises(JobFailed, match=r"^partition 0, offsets 0-0 are missing: .* goes on") as failure:
        exported(spark, log, tmp_path / "history", "fail")

    # Then
    assert failure.value.exit_code is ExitCode.NOT_FOUND
    assert "\n" not in str(failure.value)


def test_an_empty_log_is_exported_and_the_next_export_goes_on(
    spark: Any, log: GrowingLog, tmp_path: Path
) -> None:
    # Given
    log.holds(LogRange(0, 0, 0))
    _, nothing = exported(spark, log, tmp_path / "history")
    assert nothing.frame.collect() == []
    log.holds(LogRange(0, 0, 2))
    log.append(0, snapshots(2))

    # When
    context, result = exported(spark, log, tmp_path / "history")

    # Then
    assert [row["rows"] for row in result.frame.collect()] == [2]
    assert (context.report.gaps, context.ranges_read, result.extra["rows"]) == ([], [LogRange(0, 0, 2)], 2)


def test_a_record_that_nobody_can_use_is_exported_and_reported(
    spark: Any, log: GrowingLog, tmp_path: Path
) -> None:
    # Given
    log.holds(LogRange(0, 0, 3))
    log.append(0, [*snapshots(2), replace(UNKNOWN_RECORD, offset=2, timestamp_ms=FIRST_MS)])

    # When
    context, result = exported(spark, log, tmp_path / "history")

    # Then
    (gap,) = context.report.gaps
    assert (gap.partition, gap.first_offset, gap.end_offset) == (0, 2, 3)
    assert gap.reason == "the record cannot be used: unknown record type 9"
    assert (context.report.summary["corrupt"], result.extra["rows"]) == (1, 3)
    assert [row["log_offset"] for row in silver_at(tmp_path / "history") if row["outcome"] == CORRUPT] == [2]


def test_files_whose_records_nobody_can_use_are_exported_and_reported(tmp_path: Path) -> None:
    # Given
    records = [*snapshots(2), replace(UNKNOWN_RECORD, offset=2, timestamp_ms=FIRST_MS)]
    pq.write_table(pa.Table.from_batches([batch_of(0, records)]), tmp_path / "log.parquet")

    # When
    ended = replay("export", "--files", tmp_path / "log.parquet", "--to", tmp_path / "history", "-o", "json")

    # Then
    assert ended.exit_code == ExitCode.PARTIAL_FAILURE
    assert "Warning: partition 0: offsets 2-2 are missing: the record cannot be used" in ended.stderr
    assert (summary_of(ended)["corrupt"], summary_of(ended)["rows"]) == (1, 3)
    assert len(silver_at(tmp_path / "history")) == 3


def test_files_without_a_record_are_exported_as_nothing(tmp_path: Path) -> None:
    # Given
    (tmp_path / "empty.jsonl").touch()

    # When
    ended = replay("export", "--files", tmp_path / "empty.jsonl", "--to", tmp_path / "history", "-o", "json")

    # Then
    assert (ended.exit_code, answer_of(ended)) == (0, []), ended.stderr
    assert (summary_of(ended)["rows"], silver_files(tmp_path / "history")) == (0, [])


def silver_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))
