import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from kproxy.clients.failures import NotThere
from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources import kafka_log
from kproxy.jobs.sources.kafka_log import KafkaTopic, TopicConsumer
from kproxy.jobs.sources.raw_records import records_of
from kproxy.wire.records import Record
from tests.in_memory.in_memory_consumer import WRITTEN_MS, InMemoryConsumer

RECORDS = [Record(b"k", b"v", (("h", b"1"),)), Record(b"k", None), Record(b"k", b"w")]


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> KafkaTopic:
    """A topic of a cluster that has none."""

    @contextmanager
    def connected(_: Sequence[str], __: Mapping[str, object]) -> Iterator[InMemoryConsumer]:
        yield InMemoryConsumer({})

    monkeypatch.setattr(kafka_log, "connected", connected)
    return KafkaTopic("kafka-1:9092", "states")


def test_a_range_is_read_as_rows_to_its_end_and_no_further() -> None:
    # Given
    consumer = TopicConsumer(InMemoryConsumer({0: [], 3: RECORDS}), "states")

    # When
    batches = list(consumer.batches(LogRange(3, 0, 2)))

    # Then
    assert [row for batch in batches for row in records_of(batch)] == [
        (3, Record(b"k", b"v", (("h", b"1"),), WRITTEN_MS, 0)),
        (3, Record(b"k", None, (), WRITTEN_MS + 1000, 1)),
    ]


def test_a_topic_that_is_not_there_is_not_found_and_the_options_that_name_another_are_told(
    topic: KafkaTopic,
) -> None:
    # When
    with (
        pytest.raises(JobFailed, match=r"has no topic states, .*--state-topic or --groups-topic") as refusal,
        topic.consumer() as consumer,
    ):
        consumer.ranges()

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_what_goes_wrong_while_a_topic_is_read_ends_the_job(topic: KafkaTopic) -> None:
    # When
    with pytest.raises(JobFailed, match="records were deleted") as refusal, topic.consumer():
        raise NotThere("records were deleted")

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


@pytest.mark.parametrize(
    ("servers", "exit_code"), [("localhost", ExitCode.USAGE), ("127.0.0.1:1", ExitCode.CANNOT_CONNECT)]
)
def test_a_cluster_that_cannot_be_reached_is_named(servers: str, exit_code: ExitCode) -> None:
    # When
    with pytest.raises(JobFailed, match=servers) as refusal, KafkaTopic(servers, "states").consumer():
        pass

    # Then
    assert refusal.value.exit_code is exit_code


@pytest.mark.parametrize(
    ("properties", "exit_code", "said"),
    [
        ({"foo": "1"}, ExitCode.USAGE, "-K foo"),
        ({"connections.max.idle.ms": "10"}, ExitCode.USAGE, "-K: .*connections_max_idle_ms"),
        (
            {"client.id": "x", "request.timeout.ms": "5000", "bootstrap.timeout.ms": "1"},
            ExitCode.CANNOT_CONNECT,
            "cannot reach",
        ),
    ],
)
def test_properties_stand_above_what_the_job_would_take_and_bad_ones_are_bad_usage(
    properties: dict[str, str], exit_code: ExitCode, said: str
) -> None:
    # Given somebody who accepts connections and never says a word
    with socket.create_server(("127.0.0.1", 0)) as silent:
        topic = KafkaTopic(f"127.0.0.1:{silent.getsockname()[1]}", "states", properties)

        # When
        with pytest.raises(JobFailed, match=said) as refusal, topic.consumer():
            pass

    # Then
    assert refusal.value.exit_code is exit_code
