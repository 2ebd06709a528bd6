"""A producer that goes on in the background until it is told to stop, straight to the brokers."""

import random
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from confluent_kafka import KafkaError, Message, Producer

INTERVAL_SECONDS: Final = 0.04
RECORDS_AT_ONCE: Final = 5
FLUSH_SECONDS: Final = 60.0

RecordId: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""


class SteadyProduction:
    """Small batches, from `__enter__` to `__exit__`; `produced` is what landed, as its producer was told.

    They go to partitions by chance, or `in_turn`, which leaves none without records for long; however many go
    `records_at_once` to one partition, as many are produced in a second.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        partitions: Sequence[tuple[str, int]],
        *,
        in_turn: bool = False,
        records_at_once: int = RECORDS_AT_ONCE,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Produce nothing yet; `settings` are librdkafka's, over those that are chosen here."""
        self.produced: set[RecordId] = set()
        self.refused: list[str] = []
        self._partitions = list(partitions)
        self._in_turn = in_turn
        self._records_at_once = records_at_once
        chosen = {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 2}
        self._producer = Producer({**chosen, **(settings or {})})
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steady production")

    @property
    def partitions(self) -> Sequence[tuple[str, int]]:
        """Where records go, each named once."""
        return self._partitions

    def add(self, topic: str, partition: int = 0) -> None:
        """Produce to this partition, too."""
        self._partitions.append((topic, partition))

    def stop(self) -> None:
        """Produce no more; returns when all that was sent is there. May be called again."""
        self._is_over.set()
        if self._thread.is_alive():
            self._thread.join()
        assert self._producer.flush(FLUSH_SECONDS) == 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        del self._producer  # which closes its connections

    def _run(self) -> None:
        chance = random.Random(5)
        number = 0
        pause_seconds = INTERVAL_SECONDS / RECORDS_AT_ONCE * self._records_at_once
        while not self._is_over.wait(pause_seconds):
            turn = number // self._records_at_once % len(self._partitions)
            topic, partition = self._partitions[turn] if self._in_turn else chance.choice(self._partitions)
            for _ in range(self._records_at_once):
                number += 1
                self._producer.produce(topic, f"{number}", partition=partition, on_delivery=self._note)
            self._producer.poll(0)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))
        else:
            self.produced.add((message.topic(), message.partition(), message.offset()))
