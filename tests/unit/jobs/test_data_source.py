import json
import pickle

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.streaming.datasource import ReadMaxRows

from kproxy.errors import ExitCode
from kproxy.jobs.data_source import (
    FORMAT,
    RangePartition,
    StateLogReader,
    StateLogSource,
    read_range,
    topic_of,
)
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.kafka_log import KafkaTopic
from kproxy.jobs.log_reader import LogRange
from kproxy.jobs.raw_records import RAW_SCHEMA, records_of
from tests.in_memory.in_memory_topic import InMemoryTopic
from tests.spark.histories import KEYS, History


def test_the_options_name_the_topic_and_the_properties_of_the_client() -> None:
    # When
    topic = topic_of(
        {"bootstrap.servers": "a:1,b:2", "topic": "states", "kafka.security.protocol": "SSL", "ranges": "[]"}
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


def test_each_range_has_a_task_and_empty_ones_have_none() -> None:
    # Given
    reader = StateLogReader(InMemoryTopic(), json.dumps([[0, 5, 9], [1, 3, 3]]))

    # When
    parts = reader.partitions()

    # Then
    assert [part.range for part in parts] == [LogRange(0, 5, 9)]


def test_without_ranges_all_there_is_is_read() -> None:
    # Given
    reader = StateLogReader(InMemoryTopic(LogRange(0, 5, 9), LogRange(1, 0, 2)), None)

    # When
    parts = reader.partitions()

    # Then
    assert [part.range for part in parts] == [LogRange(0, 5, 9), LogRange(1, 0, 2)]


def test_a_task_reads_its_range() -> None:
    # Given
    history = History()
    for _ in range(5):
        history.snapshot(KEYS[0])

    # When
    (batch,) = read_range(InMemoryTopic(records=history.records), LogRange(0, 1, 3))

    # Then
    assert [record for _, record in records_of(batch)] == history.records[1:3]


def test_what_goes_to_an_executor_can_be_pickled() -> None:
    # When
    part = pickle.loads(pickle.dumps(RangePartition(LogRange(0, 5, 9))))

    # Then
    assert part.range == LogRange(0, 5, 9)


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
