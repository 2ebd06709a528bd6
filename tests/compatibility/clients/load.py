"""A producer and a consumer group that run until they are told to stop, and then say what went wrong for them.

Arguments: `BOOTSTRAP_SERVERS TOPIC GROUP`. The producer writes the numbers 0, 1, 2 … to the partitions in turn; the
group's only member reads and commits them. A line on standard input ends it: what is in flight is waited for, then one
JSON line tells the `LoadReport`.
"""

import json
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

RECORDS_A_SECOND: Final = 200
PARTITIONS: Final = 6
DRAIN_TIMEOUT_SECONDS: Final = 60.0
COMMIT_INTERVAL_SECONDS: Final = 0.5
POLL_SECONDS: Final = 0.1

CONNECTION_LOST: Final = frozenset({"_TRANSPORT", "_ALL_BROKERS_DOWN"})
"""Which of the two the callback is told depends on what other connections the client happens to have."""


@dataclass(slots=True)
class LoadReport:
    """What a producer and a consumer met; error names are librdkafka's."""

    acknowledged: int = 0
    undelivered: dict[str, int] = field(default_factory=dict)
    """Records that were given up, by error."""
    client_errors: dict[str, int] = field(default_factory=dict)
    """What the error callbacks were told, by error: the connections that came and went."""
    consumer_errors: dict[str, int] = field(default_factory=dict)
    """What polls and commits failed with."""
    consumed: int = 0
    missing: int = 0
    """Acknowledged records that the group never got."""
    lost: int = 0
    """Acknowledged records that are not in the log. Noted by who reads it afterwards."""
    repeated: int = 0
    """Records that are in the log more than once. Noted by who reads it afterwards."""

    @property
    def kinds_of_errors(self) -> set[str]:
        """Every error that the application was told, and where; all that say that a connection is gone are one."""
        return {
            f"{where}: {'connection lost' if name in CONNECTION_LOST else name}"
            for where, errors in (
                ("undelivered", self.undelivered),
                ("callback", self.client_errors),
                ("consumer", self.consumer_errors),
            )
            for name in errors
        }

    @classmethod
    def from_line(cls, line: str) -> Self:
        """The report in a JSON line."""
        return cls(**json.loads(line))


class Load:
    """One producer and one consumer, each with a thread of its own from `start` until `finish`."""

    def __init__(self, bootstrap_servers: str, topic: str, group: str) -> None:
        self._topic = topic
        self._settings = {"bootstrap.servers": bootstrap_servers, "error_cb": self._note_client_error}
        self._group = group
        self._stop_producing, self._stop_consuming = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=target) for target in (self._produce, self._consume)]
        self._acknowledged: set[int] = set()
        self._consumed: set[int] = set()
        self._undelivered: Counter[str] = Counter()
        self._client_errors: Counter[str] = Counter()
        self._consumer_errors: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to produce and to consume."""
        for thread in self._threads:
            thread.start()

    def finish(self) -> LoadReport:
        """Stop producing, wait until all that was acknowledged is consumed, and stop."""
        self._stop_producing.set()
        self._threads[0].join()
        deadline = time.monotonic() + DRAIN_TIMEOUT_SECONDS
        while self._acknowledged - self._consumed and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        self._stop_consuming.set()
        self._threads[1].join()
        return LoadReport(
            acknowledged=len(self._acknowledged),
            undelivered=dict(self._undelivered),
            client_errors=dict(self._client_errors),
            consumer_errors=dict(self._consumer_errors),
            consumed=len(self._consumed),
            missing=len(self._acknowledged - self._consumed),
        )

    def _produce(self) -> None:
        producer = Producer({**self._settings, "acks": "all", "enable.idempotence": True, "linger.ms": 5})
        number, started = 0, time.monotonic()
        while not self._stop_producing.is_set():
            producer.produce(
                self._topic,
                value=str(number).encode(),
                partition=number % PARTITIONS,
                on_delivery=self._note_delivery,
            )
            number += 1
            producer.poll(max(0.0, started + number / RECORDS_A_SECOND - time.monotonic()))
        producer.flush(DRAIN_TIMEOUT_SECONDS)

    def _consume(self) -> None:
        own = {"group.id": self._group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer({**self._settings, **own})
        consumer.subscribe([self._topic])
        commit_at = time.monotonic()
        while not self._stop_consuming.is_set():
            message = consumer.poll(POLL_SECONDS)
            if message is not None:
                self._note_message(message)
            if time.monotonic() > commit_at:
                self._commit(consumer)
                commit_at = time.monotonic() + COMMIT_INTERVAL_SECONDS
        consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failure:
            error = failure.args[0]
            if error.code() != KafkaError._NO_OFFSET:
                self._consumer_errors[error.name()] += 1
                print(f"{time.monotonic():.3f} commit: {error}", file=sys.stderr, flush=True)

    def _note_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._acknowledged.add(int(message.value()))
        else:
            self._undelivered[error.name()] += 1

    def _note_message(self, message: Message) -> None:
        if message.error() is None:
            self._consumed.add(int(message.value()))
        else:
            self._consumer_errors[message.error().name()] += 1

    def _note_client_error(self, error: Any) -> None:
        self._client_errors[error.name()] += 1
        print(f"{time.monotonic():.3f} error callback: {error}", file=sys.stderr, flush=True)


def main() -> None:
    """Load the cluster until a line comes, then tell the report."""
    load = Load(*sys.argv[1:])
    load.start()
    print("started", flush=True)
    sys.stdin.readline()
    print(json.dumps(asdict(load.finish())), flush=True)


if __name__ == "__main__":
    main()
