"""Reading with kafka-python, over a consumer that a test scripts. tests/kafka/test_log_commands.py has the real one."""

import socket
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from kproxy.cli.exit_codes import CommandFailed
from kproxy.clients import topic_reader
from kproxy.clients.topic_reader import KafkaLogSource, Span, open_log
from kproxy.settings import HostPort
from kproxy.wire.records import Record

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError


@dataclass
class Found:
    """What kafka-python calls a ConsumerRecord, as far as it is looked at."""

    offset: int
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    headers: list[tuple[str, bytes]] | None = field(default_factory=list)
    timestamp: int = 1_700_000_000_000


class ScriptedConsumer:
    """A `KafkaConsumer` that has `polls` to give, one after the other, and then nothing more."""

    def __init__(self, polls: Iterable[Sequence[Found]] = (), *, failure: Exception | None = None) -> None:
        self.partitions = {0, 1}
        self.is_closed = False
        self._polls = list(polls)
        self._failure = failure
        self._position = -1

    def partitions_for_topic(self, _topic: str) -> set[int]:
        self._fail()
        return self.partitions

    def beginning_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return {partition: 5 + partition.partition for partition in partitions}

    def end_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return {partition: 9 + partition.partition for partition in partitions}

    def assign(self, partitions: Sequence[Any]) -> None:
        assert partitions == [TopicPartition("states", 0)]

    def seek(self, _partition: Any, offset: int) -> None:
        self._position = offset

    def poll(self, *, timeout_ms: int) -> dict[Any, Sequence[Found]]:
        assert timeout_ms > 0
        self._fail()
        found = self._polls.pop(0) if self._polls else []
        if found:
            self._position = found[-1].offset + 1
        return {TopicPartition("states", 0): found} if found else {}

    def position(self, _partition: Any, *, timeout_ms: int) -> int:
        assert timeout_ms > 0
        return self._position

    def close(self) -> None:
        self.is_closed = True

    def _fail(self) -> None:
        if self._failure is not None:
            raise self._failure


class Seconds:
    """A clock that runs ten seconds at each look."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 10
        return self._now_s


def test_every_partition_is_a_span() -> None:
    assert KafkaLogSource(ScriptedConsumer(), "states").spans() == [Span(0, 5, 9), Span(1, 6, 10)]


@pytest.mark.parametrize(
    ("from_offset", "last_offset", "expected"),
    [
        (None, None, Span(0, 5, 9)),
        (6, 7, Span(0, 6, 8)),
        (0, 100, Span(0, 5, 9)),
        (9, None, Span(0, 9, 9)),
        (50, 60, Span(0, 50, 50)),
        (None, 4, Span(0, 5, 5)),
    ],
)
def test_a_span_is_narrowed_by_inclusive_offsets(
    from_offset: int | None, last_offset: int | None, expected: Span
) -> None:
    # When
    narrowed = Span(0, 5, 9).within(from_offset=from_offset, last_offset=last_offset)

    # Then
    assert narrowed == expected
    assert narrowed.length == expected.end_offset - expected.first_offset


def test_the_records_of_a_span_are_read_and_none_behind_it() -> None:
    # Given
    consumer = ScriptedConsumer(
        [[Found(5, headers=[("h", b"1")]), Found(6, None, None, None)], [], [Found(8), Found(9)]]
    )

    # When
    records = list(KafkaLogSource(consumer, "states").records(Span(0, 5, 9)))

    # Then
    assert records == [
        Record(b"k", b"v", (("h", b"1"),), 1_700_000_000_000, 5),
        Record(None, None, (), 1_700_000_000_000, 6),
        Record(b"k", b"v", (), 1_700_000_000_000, 8),
    ]


def test_an_empty_span_is_not_read() -> None:
    assert list(KafkaLogSource(ScriptedConsumer([[Found(5)]]), "states").records(Span(0, 9, 9))) == []


def test_a_partition_that_stays_silent_is_given_up() -> None:
    # When
    with pytest.raises(CommandFailed) as failure:
        list(KafkaLogSource(ScriptedConsumer(), "states", now_s=Seconds()).records(Span(0, 5, 9)))

    # Then
    assert failure.value.exit_code == 1
    assert failure.value.message == "states partition 0 gives nothing at offset 5"


def test_a_topic_that_does_not_exist_is_not_found() -> None:
    # Given
    consumer = ScriptedConsumer()
    consumer.partitions = set()

    # When
    with pytest.raises(CommandFailed, match="has no topic states") as failure:
        KafkaLogSource(consumer, "states").spans()

    # Then
    assert failure.value.exit_code == 3


@pytest.mark.parametrize(
    ("trouble", "exit_code"),
    [
        (KafkaTimeoutError("took\n too long"), 4),
        (TopicAuthorizationFailedError({"states"}), 4),
        (ConnectionResetError("gone"), 4),
        (KafkaError("odd"), 1),
    ],
)
def test_a_cluster_that_does_not_answer_is_a_line_and_an_exit_code(
    trouble: Exception, exit_code: int
) -> None:
    # When
    with pytest.raises(CommandFailed, match="states cannot be read: ") as of_spans:
        KafkaLogSource(ScriptedConsumer(failure=trouble), "states").spans()
    with pytest.raises(CommandFailed, match="states cannot be read: ") as of_records:
        list(KafkaLogSource(ScriptedConsumer(failure=trouble), "states").records(Span(0, 5, 9)))

    # Then
    assert (of_spans.value.exit_code, of_records.value.exit_code) == (exit_code, exit_code)
    assert "\n" not in of_spans.value.message


def test_the_consumer_is_closed() -> None:
    # Given
    consumer = ScriptedConsumer()

    # When
    KafkaLogSource(consumer, "states").close()

    # Then
    assert consumer.is_closed


def test_a_cluster_that_is_not_there_cannot_be_connected_to() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    # When
    with pytest.raises(CommandFailed) as failure:
        open_log([HostPort("127.0.0.1", port), HostPort("127.0.0.1", port)], "states")

    # Then
    assert failure.value.exit_code == 4
    assert failure.value.message == (
        f"cannot reach the backing cluster at 127.0.0.1:{port},127.0.0.1:{port}: [Errno 111] Connection refused"
    )


def test_who_answers_but_not_as_a_cluster_cannot_be_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    def refuse(**_: object) -> None:
        raise KafkaTimeoutError("Unable to bootstrap")

    monkeypatch.setattr(topic_reader, "KafkaConsumer", refuse)

    # When
    with (
        socket.create_server(("127.0.0.1", 0)) as somebody,
        pytest.raises(CommandFailed, match="Unable to bootstrap") as failure,
    ):
        open_log([HostPort("127.0.0.1", somebody.getsockname()[1])], "states")

    # Then
    assert failure.value.exit_code == 4


def test_a_cluster_that_is_there_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(topic_reader, "KafkaConsumer", lambda **_: ScriptedConsumer())
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        # When
        source = open_log([HostPort("127.0.0.1", somebody.getsockname()[1])], "states")

    # Then
    assert source.spans() == [Span(0, 5, 9), Span(1, 6, 10)]
