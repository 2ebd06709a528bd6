import socket
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest

with warnings.catch_warnings():  # as in the module under test
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import KafkaTimeoutError, OffsetOutOfRangeError, TopicAuthorizationFailedError

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.kafka_log import KafkaTopic, TopicConsumer
from kproxy.jobs.sources.log_reader import LogRange, TopicEnd
from kproxy.jobs.sources.raw_records import records_of
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.records import Record


@dataclass
class Consumed:
    """A record as kafka-python has it."""

    offset: int
    key: bytes = b"k"
    value: bytes = b"v"
    timestamp: int = 7
    headers: Sequence[tuple[str, bytes]] = (("h", b"1"),)


class ScriptedConsumer:
    """A `KafkaConsumer` that gives what it was told to, poll by poll: records, or an exception."""

    def __init__(self, *polls: Sequence[Consumed] | Exception) -> None:
        self._polls = list(polls)
        self._position = 0

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {1, 0} if topic == "states" else set()

    def beginning_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 5)

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: 9 + partition.partition for partition in partitions}

    def offsets_for_times(self, times: dict[TopicPartition, int]) -> dict[TopicPartition, Any]:
        return {partition: Consumed(6) if partition.partition == 0 else None for partition in times}

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        (self._assigned,) = partitions

    def seek(self, _partition: TopicPartition, offset: int) -> None:
        self._position = offset

    def poll(self, timeout_ms: int) -> dict[TopicPartition, Sequence[Consumed]]:
        assert timeout_ms > 0
        polled = self._polls.pop(0) if self._polls else []
        if isinstance(polled, Exception):
            raise polled
        if polled:
            self._position = polled[-1].offset + 1
        return {self._assigned: polled}

    def position(self, partition: TopicPartition, timeout_ms: int) -> int:
        assert partition == self._assigned
        assert timeout_ms > 0
        return self._position


ORDERS: Final = UUID(int=1)
MOVED: Final = UUID(int=2)


class ConsumerOfTopics(ScriptedConsumer):
    """A `KafkaConsumer` of a cluster that has `orders` and `payments`, each under an id."""

    def __init__(self) -> None:
        super().__init__()
        ids = {"orders": ORDERS, "payments": UUID(int=3)}
        self._client = SimpleNamespace(cluster=SimpleNamespace(topic_id=ids.get))

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1} if topic in {"orders", "payments"} else set()


class Ticking:
    """A clock that moves on by ten seconds whenever somebody looks."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 10
        return self._now_s


def test_every_partition_tells_what_it_holds() -> None:
    # When
    ranges = TopicConsumer(ScriptedConsumer(), "states").ranges()

    # Then
    assert ranges == [LogRange(0, 5, 9), LogRange(1, 5, 10)]


def test_a_time_after_the_last_record_is_the_end_of_the_partition() -> None:
    # When
    offsets = TopicConsumer(ScriptedConsumer(), "states").offsets_at(1000)

    # Then
    assert offsets == {0: 6, 1: 10}


def test_consumed_topics_tell_where_they_end_and_ended_before() -> None:
    """One that is gone, and one that was made anew under another id, are left out."""
    # Given
    orders, gone, moved = (topic_id_text(TopicId(each.bytes)) for each in (ORDERS, UUID(int=9), MOVED))
    topics = {orders: "orders", gone: "gone", moved: "payments"}

    # When
    ends = TopicConsumer(ConsumerOfTopics(), "states").topic_ends(topics, earlier_ms=1000)

    # Then
    assert ends == {(orders, 0): TopicEnd(9, 6), (orders, 1): TopicEnd(10, 10)}


def test_where_no_topic_is_left_nothing_is_asked() -> None:
    assert TopicConsumer(ConsumerOfTopics(), "states").topic_ends({"x": "gone"}, earlier_ms=1000) == {}


def test_a_topic_that_is_not_there_is_not_found() -> None:
    # When
    with pytest.raises(JobFailed, match="has no topic nothing") as refusal:
        TopicConsumer(ScriptedConsumer(), "nothing").ranges()

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_a_range_is_read_to_its_end_and_no_further() -> None:
    # Given
    consumer = ScriptedConsumer([Consumed(5), Consumed(6)], [], [Consumed(8), Consumed(9)])

    # When
    batches = list(TopicConsumer(consumer, "states").batches(LogRange(0, 5, 9)))

    # Then
    records = [record for batch in batches for _, record in records_of(batch)]
    assert records == [Record(b"k", b"v", (("h", b"1"),), 7, offset) for offset in (5, 6, 8)]


@pytest.mark.parametrize(
    ("failure", "exit_code", "said"),
    [
        (OffsetOutOfRangeError("5"), ExitCode.NOT_FOUND, "deleted while they were read"),
        (KafkaTimeoutError("too long"), ExitCode.CANNOT_CONNECT, "too long"),
        (TopicAuthorizationFailedError("states"), ExitCode.CANNOT_CONNECT, "cannot be read"),
        (ValueError("bad\nbatch"), ExitCode.FAILED, "bad batch"),
    ],
)
def test_what_goes_wrong_is_one_line(failure: Exception, exit_code: ExitCode, said: str) -> None:
    # Given
    reader = TopicConsumer(ScriptedConsumer(failure), "states")

    # When
    with pytest.raises(JobFailed, match=said) as refusal:
        list(reader.batches(LogRange(0, 5, 9)))

    # Then
    assert refusal.value.exit_code is exit_code


def test_a_partition_that_gives_nothing_is_given_up() -> None:
    # Given
    reader = TopicConsumer(ScriptedConsumer(), "states", now_s=Ticking())

    # When
    with pytest.raises(JobFailed) as refusal:
        list(reader.batches(LogRange(0, 5, 9)))

    # Then
    assert str(refusal.value) == "states-0 gives nothing at offset 5"


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
