"""`InMemoryConsumer`: a topic that a test wrote, as kafka-python's `KafkaConsumer` gives it to `TopicReader`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kproxy.wire.records import Record

WRITTEN_MS = 1_795_262_400_000


@dataclass(frozen=True)
class ConsumedRecord:
    """What kafka-python calls a ConsumerRecord, as far as it is looked at."""

    offset: int
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp: int = WRITTEN_MS
    headers: Sequence[tuple[str, bytes | None]] | None = (("h", b"1"),)


class InMemoryConsumer:
    """Partitions by number, each a list of records: the first of them has the offset of its place in the list.

    Each record is written a second after the one before. A consumer of no partitions knows no topic. Those that are
    `leaderless` had their only replica on broker 1, which is down: kafka-python trips over them.
    """

    def __init__(
        self, partitions: Mapping[int, Sequence[Record]], *, leaderless: Collection[int] = ()
    ) -> None:
        self.topics: list[str] = []
        """Which topics somebody asked for."""
        self.is_closed = False
        self._partitions = partitions
        self._position = 0
        self.leaderless = leaderless

    @contextmanager
    def connected(self) -> Iterator["InMemoryConsumer"]:
        try:
            yield self
        finally:
            self.is_closed = True

    def partitions_for_topic(self, topic: str) -> set[int]:
        self.topics.append(topic)
        return set(self._partitions)

    def beginning_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return dict.fromkeys(self._led(partitions), 0)

    def end_offsets(self, partitions: Sequence[Any]) -> dict[Any, int]:
        return {each: len(self._partitions[each.partition]) for each in self._led(partitions)}

    @property
    def _client(self) -> Any:
        lost = {number: SimpleNamespace(replica_nodes=[1]) for number in self.leaderless}
        topics = dict.fromkeys(self.topics, lost)
        return SimpleNamespace(
            cluster=SimpleNamespace(
                _partitions=topics,
                brokers=lambda: [SimpleNamespace(node_id=2)],
                leader_for_partition=lambda each: -1 if each.partition in self.leaderless else 2,
            )
        )

    def _led(self, partitions: Sequence[Any]) -> Sequence[Any]:
        for each in partitions:
            if each.partition in self.leaderless:
                raise KeyError(each)
        return partitions

    def assign(self, partitions: Sequence[Any]) -> None:
        (self._assigned,) = partitions

    def seek(self, partition: Any, offset: int) -> None:
        assert partition == self._assigned
        self._position = offset

    def poll(self, *, timeout_ms: int) -> dict[Any, Sequence[ConsumedRecord]]:
        assert timeout_ms > 0
        records = self._partitions[self._assigned.partition]
        first_offset, self._position = self._position, len(records)
        found = enumerate(records[first_offset:], start=first_offset)
        return {self._assigned: [_consumed(offset, record) for offset, record in found]}

    def position(self, partition: Any, *, timeout_ms: int) -> int:
        assert partition == self._assigned
        assert timeout_ms > 0
        return self._position


def _consumed(offset: int, record: Record) -> ConsumedRecord:
    return ConsumedRecord(offset, record.key, record.value, WRITTEN_MS + 1000 * offset, record.headers)
