"""The producer, a process of its own: sends so many records in so many seconds, each stored by all replicas.

It tells on its standard output which records are stored (`events`). A record's value is its kind, its key the
number of the job, so that the default partitioner spreads them.
"""

import argparse
import select
import sys
import time
from dataclasses import dataclass, replace
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.demo.events import Finished, Produced, ProducedRecord, encode
from tests.demo.jobs import JobKind, kind_of
from tests.demo.ledger import RecordId

TICK_SECONDS: Final = 0.25
"""Long enough for batches of some records: a poll brings whole batches."""
FLUSH_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Pace:
    """So many records evenly in so many seconds. Times are seconds of the monotonic clock."""

    count: int
    seconds: float
    started: float

    def due(self, now: float) -> int:
        """How many are to be sent by now: the first at once, and never more than there are."""
        return min(self.count, 1 + int(self.count * (now - self.started) / self.seconds))

    def resumed(self, sent: int, now: float) -> "Pace":
        """The same pace after a pause, if there was one: as if those `sent` had been sent without it."""
        return replace(self, started=max(self.started, now - sent * self.seconds / self.count))


class PacedProducer:
    """Sends jobs at an even pace and tells of each when it is stored."""

    def __init__(self, bootstrap_server: str, topic: str) -> None:
        self._topic = topic
        self._stored: list[ProducedRecord] = []
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_server,
                "client.id": "producer",
                "enable.idempotence": True,
                "linger.ms": 5,
            }
        )

    def produce(self, count: int, *, seconds: float, held_back: int = 0) -> None:
        """Send `count` records over `seconds`; raises `KafkaException` if one is not stored.

        The last `held_back` are not sent before something can be read from standard input, however long that takes.
        """
        pace = Pace(count, seconds, time.monotonic())
        sent, allowed = 0, count - held_back
        while sent < count:
            if sent >= allowed and _is_told_to_go_on():
                pace, allowed = pace.resumed(sent, time.monotonic()), count
            due = min(allowed, pace.due(time.monotonic()))
            for number in range(sent, due):
                self._send(number)
            sent = due
            time.sleep(TICK_SECONDS)
            self._producer.poll(0)
            self._tell_stored()
        if left := self._producer.flush(FLUSH_SECONDS):
            sys.exit(f"{left} records were not stored within {FLUSH_SECONDS:.0f} s")
        self._tell_stored()

    def _send(self, number: int) -> None:
        self._producer.produce(
            self._topic, key=f"job-{number}", value=kind_of(number).encode(), on_delivery=self._note_stored
        )

    def _note_stored(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        record = RecordId(message.partition(), message.offset())
        self._stored.append(ProducedRecord(record, JobKind(message.value().decode())))

    def _tell_stored(self) -> None:
        if self._stored:
            print(encode(Produced(self._stored)), flush=True)
            self._stored = []


def _is_told_to_go_on() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def main() -> None:
    """Produce what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument(
        "--held-back", type=int, default=0, help="so many at the end wait for a line of input"
    )
    options = parser.parse_args()
    producer = PacedProducer(options.bootstrap_server, options.topic)
    producer.produce(options.records, seconds=options.seconds, held_back=options.held_back)
    print(encode(Finished()), flush=True)


if __name__ == "__main__":
    main()
