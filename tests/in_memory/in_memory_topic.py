"""`InMemoryTopic`: a topic whose offsets a test says, for what asks a topic which there are. Serves as `KafkaTopic`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kproxy.jobs.kafka_log import KafkaTopic
from kproxy.jobs.log_reader import LogRange


class InMemoryTopic(KafkaTopic):
    """Holds `held`, which the test may change."""

    held: Sequence[LogRange]

    def __init__(self, *held: LogRange) -> None:
        super().__init__("nowhere:9092", "states")
        object.__setattr__(self, "held", held)

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @contextmanager
    def consumer(self) -> Iterator["InMemoryTopic"]:  # type: ignore[override]  # it consumes itself
        yield self

    def ranges(self) -> list[LogRange]:
        return list(self.held)
