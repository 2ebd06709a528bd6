"""Reading with kafka-python, over a consumer that a test scripts. tests/kafka/test_log_commands.py has the real one."""

import socket
import warnings
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

import pytest

from kproxy.clients import topic_reader
from kproxy.clients.failures import CannotConnect, ClientFailed, NotThere, TopicNotThere, WrongAddress
from kproxy.clients.log_ranges import Leaderless, LogRange, TopicEnd
from kproxy.clients.topic_reader import TopicReader, connected
from kproxy.share.identifiers import TopicId, topic_id_text
from kproxy.wire.records import Record
from tests.in_memory.in_memory_consumer import WRITTEN_MS, ConsumedRecord, InMemoryConsumer

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import TopicPartition
    from kafka.errors import (
        KafkaError,
        KafkaTimeoutError,
        OffsetOutOfRangeError,
        TopicAuthorizationFailedError,
    )


class ScriptedConsumer:
    """A `KafkaConsumer` that gives what it was told to, poll by poll: records, or an exception; then nothing more."""

    def __init__(self, *polls: Sequence[ConsumedRecord] | Exception) -> None:
        self.is_closed = False
        self._polls = list(polls)
        self._position = 0

    def partitions_for_topic(self, topic: str) -> set[int]:
        if self._polls and isinstance(self._polls[0], Exception):
            raise self._polls[0]
        return {1, 0} if topic == "states" else set()

    def beginning_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return dict.fromkeys(partitions, 5)

    def end_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return {partition: 9 + partition.partition for partition in partitions}

    def offsets_for_times(self, times: dict[Any, int]) -> dict[Any, Any]:
        return {partition: ConsumedRecord(6) if partition.partition == 0 else None for partition in times}

    def assign(self, partitions: Sequence[Any]) -> None:
        assert partitions == [TopicPartition("states", 0)]

    def seek(self, _partition: Any, offset: int) -> None:
        self._position = offset

    def poll(self, *, timeout_ms: int) -> dict[Any, Sequence[ConsumedRecord]]:
        assert timeout_ms > 0
        polled = self._polls.pop(0) if self._polls else []
        if isinstance(polled, Exception):
            raise polled
        if polled:
            self._position = polled[-1].offset + 1
        return {TopicPartition("states", 0): polled} if polled else {}

    def position(self, _partition: Any, *, timeout_ms: int) -> int:
        assert timeout_ms > 0
        return self._position

    def close(self) -> None:
        self.is_closed = True


ORDERS: Final = UUID(int=1)
MOVED: Final = UUID(int=2)


class ConsumerOfTopics(ScriptedConsumer):
    """A `KafkaConsumer` of a cluster that has `orders` and `payments`, each under an id.

    Partitions of `leaderless` had their only replica on broker 1, which is down: of none that is led, kafka-python
    does not ask before its time is over.
    """

    def __init__(self, *, leaderless: Sequence[int] = ()) -> None:
        super().__init__()
        ids = {"orders": ORDERS, "payments": UUID(int=3), "states": UUID(int=7)}
        lost = {number: SimpleNamespace(replica_nodes=[1]) for number in leaderless}
        self._leaderless = leaderless
        self._client = SimpleNamespace(
            cluster=SimpleNamespace(
                topic_id=ids.get,
                cluster_id="cluster-1",
                _partitions=dict.fromkeys(ids, lost),
                brokers=lambda: [SimpleNamespace(node_id=2)],
                leader_for_partition=lambda each: -1 if each.partition in leaderless else 2,
            )
        )

    def end_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        led = [each for each in partitions if each.partition not in self._leaderless]
        if not led:
            raise KafkaTimeoutError
        if len(led) < len(partitions):
            raise KeyError(partitions)
        return super().end_offsets(partitions)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1} if topic in {"orders", "payments", "states"} else set()


class Seconds:
    """A clock that runs ten seconds at each look."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += 10
        return self._now_s


def test_every_partition_tells_what_it_holds() -> None:
    assert TopicReader(ScriptedConsumer(), "states").ranges() == [LogRange(0, 5, 9), LogRange(1, 5, 10)]


def test_partitions_without_a_leader_are_told_with_the_broker_that_is_down() -> None:
    # Given
    reader = TopicReader(InMemoryConsumer({0: [], 1: [], 2: []}, leaderless={0, 2}), "states")

    # When
    ranges, leaderless = reader.ranges_with_leader()

    # Then
    assert ranges == [LogRange(1, 0, 0)]
    assert leaderless == [Leaderless(0, (1,)), Leaderless(2, (1,))]


def test_who_needs_all_partitions_is_told_that_one_has_no_leader() -> None:
    # Given
    reader = TopicReader(InMemoryConsumer({0: [], 2: []}, leaderless={2}), "states")

    # When
    with pytest.raises(CannotConnect) as failure:
        reader.ranges()

    # Then
    assert str(failure.value) == (
        "states cannot be read: partition 2 has no leader (broker 1 is down); ask again when there is one"
    )


def test_a_time_after_the_last_record_is_the_end_of_the_partition() -> None:
    assert TopicReader(ScriptedConsumer(), "states").offsets_at(1000) == {0: 6, 1: 10}


def test_a_topic_is_known_by_the_ids_of_its_cluster_and_its_own() -> None:
    # When
    identity = TopicReader(ConsumerOfTopics(), "states").identity()

    # Then
    assert identity == f"cluster-1:states:{UUID(int=7)}"


def test_consumed_topics_tell_where_they_end_and_ended_before() -> None:
    """One that is gone, and one that was made anew under another id, are left out."""
    # Given
    orders, gone, moved = (topic_id_text(TopicId(each.bytes)) for each in (ORDERS, UUID(int=9), MOVED))
    topics = {orders: "orders", gone: "gone", moved: "payments"}

    # When
    ends = TopicReader(ConsumerOfTopics(), "states").topic_ends(topics, earlier_ms=1000)

    # Then
    assert ends == {(orders, 0): TopicEnd(9, 6), (orders, 1): TopicEnd(10, 10)}


@pytest.mark.parametrize("leaderless", [(1,), (0, 1)])
def test_a_partition_of_a_consumed_topic_without_a_leader_does_not_tell_where_it_ends(
    leaderless: Sequence[int],
) -> None:
    # Given
    topic_id = topic_id_text(TopicId(ORDERS.bytes))
    reader = TopicReader(ConsumerOfTopics(leaderless=leaderless), "states")

    # When
    ends = reader.topic_ends({topic_id: "orders"}, earlier_ms=1000)

    # Then
    told = {(topic_id, 0): TopicEnd(9, 6)}
    untold = {(topic_id, number): Leaderless(number, (1,)) for number in leaderless}
    assert ends == told | untold


def test_where_no_topic_is_left_nothing_is_asked() -> None:
    assert TopicReader(ConsumerOfTopics(), "states").topic_ends({"x": "gone"}, earlier_ms=1000) == {}


def test_the_records_of_a_range_are_read_and_none_behind_it() -> None:
    # Given
    consumer = ScriptedConsumer(
        [ConsumedRecord(5), ConsumedRecord(6, None, None, headers=None)],
        [],
        [ConsumedRecord(8), ConsumedRecord(9)],
    )

    # When
    polls = list(TopicReader(consumer, "states").polls(LogRange(0, 5, 9)))

    # Then
    assert polls == [
        [
            Record(b"k", b"v", (("h", b"1"),), WRITTEN_MS, 5),
            Record(None, None, (), WRITTEN_MS, 6),
        ],
        [Record(b"k", b"v", (("h", b"1"),), WRITTEN_MS, 8)],
    ]


def test_an_empty_range_is_not_read() -> None:
    # Given
    reader = TopicReader(ScriptedConsumer([ConsumedRecord(5)]), "states")

    # When
    polls = list(reader.polls(LogRange(0, 9, 9)))

    # Then
    assert polls == []


def test_a_partition_that_stays_silent_is_given_up() -> None:
    # Given
    reader = TopicReader(ScriptedConsumer(), "states", now_s=Seconds())

    # When
    with pytest.raises(ClientFailed, match="states-0 gives nothing at offset 5"):
        list(reader.polls(LogRange(0, 5, 9)))


def test_a_topic_that_does_not_exist_is_not_there() -> None:
    with pytest.raises(TopicNotThere, match="has no topic nothing"):
        TopicReader(ScriptedConsumer(), "nothing").ranges()


@pytest.mark.parametrize(
    ("trouble", "failure", "said"),
    [
        (OffsetOutOfRangeError("5"), NotThere, "deleted while they were read"),
        (KafkaTimeoutError("took\n too long"), CannotConnect, "states cannot be read: .*took too long"),
        (TopicAuthorizationFailedError({"states"}), CannotConnect, "states cannot be read: "),
        (ConnectionResetError("gone"), CannotConnect, "states cannot be read: gone"),
        (KafkaError("odd"), ClientFailed, "states cannot be read: .*odd"),
        (ValueError("bad\nbatch"), ClientFailed, "states cannot be read: bad batch"),
    ],
)
def test_what_goes_wrong_is_one_line_of_its_kind(
    trouble: Exception, failure: type[ClientFailed], said: str
) -> None:
    # When
    with pytest.raises(failure, match=said) as of_ranges:
        TopicReader(ScriptedConsumer(trouble), "states").ranges()
    with pytest.raises(failure, match=said) as of_records:
        list(TopicReader(ScriptedConsumer(trouble), "states").polls(LogRange(0, 5, 9)))

    # Then
    assert (type(of_ranges.value), type(of_records.value)) == (failure, failure)
    assert "\n" not in str(of_ranges.value)


def test_a_cluster_that_is_not_there_cannot_be_connected_to() -> None:
    # Given
    with socket.create_server(("127.0.0.1", 0)) as free:
        server = f"127.0.0.1:{free.getsockname()[1]}"

    # When
    with pytest.raises(CannotConnect) as failure, connected([server, server], {}):
        pass

    # Then
    assert str(failure.value) == (
        f"cannot reach the backing cluster at {server},{server}: [Errno 111] Connection refused"
    )


def test_what_is_no_address_is_named() -> None:
    with (
        pytest.raises(WrongAddress, match="-b 'localhost': expected HOST:PORT"),
        connected(["localhost"], {}),
    ):
        pass


def test_who_answers_but_not_as_a_cluster_cannot_be_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    def refuse(**_: object) -> None:
        raise KafkaTimeoutError("Unable to bootstrap")

    monkeypatch.setattr(topic_reader, "KafkaConsumer", refuse)

    # When
    with (
        socket.create_server(("127.0.0.1", 0)) as somebody,
        pytest.raises(CannotConnect, match="Unable to bootstrap"),
        connected([f"127.0.0.1:{somebody.getsockname()[1]}"], {}),
    ):
        pass


def test_a_consumer_is_closed_at_the_end_of_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    monkeypatch.setattr(topic_reader, "KafkaConsumer", lambda **_: ScriptedConsumer())

    # When
    with (
        socket.create_server(("127.0.0.1", 0)) as somebody,
        connected([f"127.0.0.1:{somebody.getsockname()[1]}"], {}) as consumer,
    ):
        was_closed = consumer.is_closed

    # Then
    assert not was_closed
    assert consumer.is_closed
