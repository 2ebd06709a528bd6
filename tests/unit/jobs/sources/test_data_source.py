import json

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadMaxRows

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.data_source import (
    FORMAT,
    StateLogReader,
    StateLogSource,
    topic_of,
)
from kproxy.jobs.sources.kafka_log import KafkaTopic
from kproxy.jobs.sources.raw_records import RAW_SCHEMA
from tests.in_memory.in_memory_topic import InMemoryTopic


def test_the_options_name_the_topic_and_the_properties_of_the_client() -> None:
    # When
    topic = topic_of(
        {"bootstrap.servers": "a:1,b:2", "topic": "states", "kafka.security.protocol": "SSL", "tasks": "[]"}
    )

    # Then
    assert topic == KafkaTopic("a:1,b:2", "states", {"security.protocol": "SSL"})


@pytest.mark.parametrize("missing", ["bootstrap.servers", "topic"])
def test_an_option_that_is_missing_is_named(missing: str) -> None:
    # Given
    options = {"bootstrap.servers": "a:1", "topic": "states"}
    del options[missing]

    # When
    with pytest.raises(JobFailed, match=f"needs the option {missing}") as refusal:
        topic_of(options)

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def tasks_of(reader: StateLogReader) -> list[list[LogRange]]:
    return [part.ranges for part in reader.partitions()]


def test_each_task_reads_what_it_is_given() -> None:
    # Given
    given = [[LogRange(0, 5, 9), LogRange(3, 0, 7)], [LogRange(1, 3, 300)]]
    asked = json.dumps(
        [[[part.partition, part.first_offset, part.end_offset] for part in task] for task in given]
    )

    # When
    tasks = tasks_of(StateLogReader(InMemoryTopic(), {"tasks": asked}))

    # Then
    assert tasks == given


def test_where_no_tasks_are_given_all_there_is_is_read_and_small_ranges_together() -> None:
    # Given
    held = (LogRange(0, 5, 9), LogRange(1, 0, 2), LogRange(2, 4, 4), LogRange(3, 0, 300_000))

    # When
    tasks = tasks_of(StateLogReader(InMemoryTopic(*held), {"slots": "4"}))

    # Then
    assert sorted(tasks) == [[held[0], held[1]], [held[3]]]


@pytest.mark.parametrize("asked", ["[]", "[[]]"])
def test_nothing_is_read_by_a_task_that_does_not_even_connect(asked: str) -> None:
    # Given
    reader = StateLogReader(KafkaTopic("127.0.0.1:1", "nowhere"), {"tasks": asked})
    (part,) = reader.partitions()

    # When
    batches = list(reader.read(part))

    # Then
    assert batches == []


def test_the_source_has_the_name_and_the_columns_that_its_readers_have() -> None:
    # When
    source = StateLogSource({})

    # Then
    assert (source.name(), source.schema()) == (FORMAT, RAW_SCHEMA)


def test_a_stream_heeds_its_options_whatever_case_spark_gives_them() -> None:
    # Given
    given = {"bootstrap.servers": "a:1", "topic": "states", "maxRecordsPerTrigger": "7"}

    # When
    reader = StateLogSource(CaseInsensitiveDict(given)).streamReader(RAW_SCHEMA)

    # Then
    assert reader.getDefaultReadLimit() == ReadMaxRows(7)
