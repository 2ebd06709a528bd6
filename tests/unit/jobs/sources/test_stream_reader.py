import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import failure_of_spark
from kproxy.jobs.sources.stream_reader import StateLogStreamReader, admitted
from kproxy.jobs.sources.task_partitions import TaskPartition
from tests.in_memory.in_memory_topic import InMemoryTopic


def a_reader(topic: InMemoryTopic, **options: str) -> StateLogStreamReader:
    return StateLogStreamReader(topic, options)


@given(
    lags=st.dictionaries(st.integers(0, 5), st.integers(0, 1000), min_size=1),
    most=st.integers(1, 500),
)
def test_a_micro_batch_is_never_larger_and_never_stands_still(lags: dict[int, int], most: int) -> None:
    # Given
    start = {number: 10 * number for number in lags}
    end = {number: start[number] + lag for number, lag in lags.items()}

    # When
    reached = admitted(start, end, most)

    # Then
    taken = sum(reached[number] - start[number] for number in lags)
    assert taken <= most
    assert taken > 0 or not any(lags.values())
    assert all(start[number] <= reached[number] <= end[number] for number in lags)


def test_a_small_lag_is_not_behind_a_large_one_for_ever() -> None:
    # When
    reached = admitted({0: 0, 1: 0}, {0: 1_000_000, 1: 5}, 100)

    # Then
    assert reached[1] > 0


def test_a_stream_begins_where_the_log_does_or_where_it_is_told() -> None:
    # Given
    topic = InMemoryTopic(LogRange(0, 10, 20), LogRange(1, 0, 5))

    # When
    begun = a_reader(topic, startingOffsets=json.dumps({"1": 3})).initialOffset()

    # Then
    assert begun == {"0": 10, "1": 3}


def test_all_that_is_available_is_read_without_a_limit() -> None:
    # Given
    reader = a_reader(InMemoryTopic(LogRange(0, 10, 20), LogRange(1, 0, 5)))

    # When
    reached = reader.latestOffset({"0": 10}, reader.getDefaultReadLimit())

    # Then
    assert isinstance(reader.getDefaultReadLimit(), ReadAllAvailable)
    assert reached == {"0": 20, "1": 5}


def test_the_limit_of_the_options_is_the_one_of_each_micro_batch() -> None:
    # Given
    reader = a_reader(InMemoryTopic(LogRange(0, 0, 100)), maxRecordsPerTrigger="7")

    # When
    reached = reader.latestOffset({"0": 50}, reader.getDefaultReadLimit())

    # Then
    assert reader.getDefaultReadLimit() == ReadMaxRows(7)
    assert reached == {"0": 57}


def test_a_run_of_available_now_ends_where_the_log_ended_when_it_began() -> None:
    # Given
    topic = InMemoryTopic(LogRange(0, 0, 100))
    reader = a_reader(topic)
    reader.prepareForTriggerAvailableNow()
    topic.held = [LogRange(0, 0, 500)]

    # When
    reached = reader.latestOffset({"0": 40}, ReadAllAvailable())

    # Then
    assert reached == {"0": 100}
    assert reader.reportLatestOffset() == {"0": 500}


def tasks_of(parts: Sequence[InputPartition]) -> list[list[LogRange]]:
    return [part.ranges for part in parts if isinstance(part, TaskPartition)]


def test_whatever_there_is_to_read_is_read_and_small_ranges_by_one_task() -> None:
    # Given
    held = (LogRange(0, 0, 100), LogRange(1, 0, 5), LogRange(2, 0, 9), LogRange(3, 0, 300_000))
    reader = a_reader(InMemoryTopic(*held), slots="2")

    # When
    parts = reader.partitions({"0": 40, "1": 5}, {"0": 60, "1": 5, "2": 9, "3": 300_000})

    # Then
    assert sorted(tasks_of(parts)) == [[LogRange(0, 40, 60), LogRange(2, 0, 9)], [LogRange(3, 0, 300_000)]]


def test_records_that_were_deleted_before_they_were_read_fail_the_stream() -> None:
    # Given
    reader = a_reader(InMemoryTopic(LogRange(0, 50, 100)))

    # When
    with pytest.raises(Exception, match="offsets 40-49 are missing") as refusal:
        reader.partitions({"0": 40}, {"0": 60})

    # Then
    assert failure_of_spark(str(refusal.value)).exit_code is ExitCode.NOT_FOUND


def test_of_a_partition_that_was_added_everything_is_to_be_read() -> None:
    # Given
    reader = a_reader(InMemoryTopic(LogRange(0, 0, 9), LogRange(1, 4, 6)))

    # When
    with pytest.raises(Exception, match="partition 1, offsets 0-3 are missing") as refusal:
        reader.partitions({"0": 9}, {"0": 9, "1": 6})

    # Then
    assert failure_of_spark(str(refusal.value)).exit_code is ExitCode.NOT_FOUND


def test_or_they_are_reported_and_the_stream_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    # Given
    reader = a_reader(InMemoryTopic(LogRange(0, 50, 100)), onGap="report")

    # When
    parts = reader.partitions({"0": 40}, {"0": 60})

    # Then
    assert tasks_of(parts) == [[LogRange(0, 50, 60)]]
    assert "offsets 40-49 are missing" in caplog.text
