"""A producer that goes on in the background until it is told to stop, straight to the brokers."""

import random
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self, TypeAlias

from confluent_kafka import KafkaError, Message, Producer

INTERVAL_SECONDS: Final = 0.04
RECORDS_AT_ONCE: Final = 5
FLUSH_SECONDS: Final = 60.0

RecordId: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""


class SteadyProduction:
    """Small batches, from `__enter__` to `__exit__`; `produced` is what landed.

    They go to partitions by chance, or `in_turn`, which leaves none without records for long.
    """

    def __init__(
        self, bootstrap_servers: str, partitions: Sequence[tuple[str, int]], *, in_turn: bool = False
    ) -> None:
        self.produced: set[RecordId] = set()
        self.refused: list[str] = []
        self._partitions = list(partitions)
        self._in_turn = in_turn
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "linger.ms": 2}
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steady production")

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

    def _run(self) -> None:
        chance = random.Random(5)
        number = 0
        while not self._is_over.wait(INTERVAL_SECONDS):
            turn = number // RECORDS_AT_ONCE % len(self._partitions)
            topic, partition = self._partitions[turn] if self._in_turn else chance.choice(self._partitions)
            for _ in range(RECORDS_AT_ONCE):
                number += 1
                self._producer.produce(topic, f"{number}", partition=partition, on_delivery=self._note)
            self._producer.poll(0)

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.refused.append(str(error))
        else:
            self.produced.add((message.topic(), message.partition(), message.offset()))
