"""One member of the share group, a process of its own: polls, works, and settles each record by its kind.

It tells on its standard output what happens to it (`events`), and leaves the group when its standard input
ends. The one that is told to oversleep holds the records of one poll until their lock has long expired, and
acknowledges them then as if nothing had happened.
"""

import argparse
import select
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import AcknowledgeType, KafkaException, Message, TopicPartition

from tests.demo.events import Delivered, Event, FellAsleep, Finished, Settled, Woke, encode
from tests.demo.homes import consumer_behind
from tests.demo.jobs import JobKind, Verdict, verdict_on
from tests.demo.ledger import DeliveryId, Outcome, RecordId, outcome_of

POLL_SECONDS: Final = 0.2
COMMIT_TIMEOUT_SECONDS: Final = 20.0
RECORDS_PER_POLL: Final = 50
OVERSLEPT_SECONDS: Final = 3.0
"""How much longer than the lock's duration the records are held."""
NOT_ANSWERED: Final = "NOT_ANSWERED"


class Member:
    """A `ShareConsumer` in explicit acknowledgement mode and what it has been told so far."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._consumer = consumer_behind(
            options.home.split(",") if options.home else (),
            {
                "bootstrap.servers": options.bootstrap_server,
                "group.id": options.group,
                "client.id": options.name,
                "share.acknowledgement.mode": "explicit",
                "max.poll.records": RECORDS_PER_POLL,
            },
        )
        self._consumer.set_acknowledgement_commit_callback(self._note_answer)
        self._consumer.subscribe([options.topic])
        self._seconds_per_record: float = options.seconds_per_record
        self._lock_seconds: float = options.lock_seconds
        self._oversleeps_after: int | None = options.oversleeps_after
        self._oversleeps_with: int = options.oversleeps_with
        self._delivered = 0
        """Without those of the poll at hand."""
        self._answers: dict[RecordId, str | None] = {}

    def work_until_told_to_finish(self) -> None:
        """Poll, work and commit; leave the group when the standard input ends."""
        while not _is_told_to_finish():
            messages = _without_errors(list(self._consumer.poll(POLL_SECONDS)))
            if messages:
                self._settle(messages)
        self._consumer.close()

    def _settle(self, messages: Sequence[Message]) -> None:
        polled_at = time.monotonic()
        _tell(Delivered([_delivery_id(message) for message in messages]))
        self._work(len(messages))
        self._delivered += len(messages)
        verdicts = {_delivery_id(message): _verdict(message) for message in messages}
        for message in messages:
            self._consumer.acknowledge(message, AcknowledgeType[verdicts[_delivery_id(message)]])
        self._tell_outcomes(verdicts, held_seconds=time.monotonic() - polled_at)

    def _work(self, record_count: int) -> None:
        if self._falls_asleep(record_count):
            self._oversleeps_after = None
            seconds = self._lock_seconds + OVERSLEPT_SECONDS
            _tell(FellAsleep(seconds))
            time.sleep(seconds)
            _tell(Woke())
        else:
            time.sleep(record_count * self._seconds_per_record)

    def _falls_asleep(self, record_count: int) -> bool:
        if self._oversleeps_after is None or record_count < self._oversleeps_with:
            return False
        return self._delivered >= self._oversleeps_after

    def _tell_outcomes(self, verdicts: Mapping[DeliveryId, Verdict], *, held_seconds: float) -> None:
        errors = self._commit()
        endings: defaultdict[tuple[Outcome, str | None], list[DeliveryId]] = defaultdict(list)
        for delivery_id, verdict in verdicts.items():
            error = errors.get(delivery_id.record, NOT_ANSWERED)
            outcome = outcome_of(verdict, error, held_seconds=held_seconds, lock_seconds=self._lock_seconds)
            endings[outcome, error].append(delivery_id)
        for (outcome, error), delivery_ids in endings.items():
            _tell(Settled(outcome, delivery_ids, error))

    def _commit(self) -> Mapping[RecordId, str | None]:
        """The answer to each acknowledgement: an error of the callback or of the commit counts, or None."""
        self._answers = {}
        outcomes: Mapping[TopicPartition, KafkaException | None] = self._consumer.commit_sync(
            COMMIT_TIMEOUT_SECONDS
        )
        by_partition = {partition.partition: _error_name(error) for partition, error in outcomes.items()}
        return {
            record: error or by_partition.get(record.partition, NOT_ANSWERED)
            for record, error in self._answers.items()
        }

    def _note_answer(self, offsets: Mapping[TopicPartition, set[int]], error: KafkaException | None) -> None:
        for partition, answered in offsets.items():
            records = (RecordId(partition.partition, offset) for offset in answered)
            self._answers.update(dict.fromkeys(records, _error_name(error)))


def main() -> None:
    """Be the member that the command line describes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--home", help="HOST:PORT,HOST:PORT of the kproxy to begin with: bootstrap, broker")
    parser.add_argument("--group", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--seconds-per-record", type=float, required=True)
    parser.add_argument("--lock-seconds", type=float, required=True)
    parser.add_argument("--oversleeps-after", type=int, help="deliveries; without it: never")
    parser.add_argument("--oversleeps-with", type=int, default=1, help="so many records or more in hand")
    Member(parser.parse_args()).work_until_told_to_finish()
    _tell(Finished())


def _is_told_to_finish() -> bool:
    # Nothing is ever written to a member: what can be read is the end.
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _without_errors(messages: Sequence[Message]) -> Sequence[Message]:
    for message in messages:
        if message.error() is not None:
            raise KafkaException(message.error())
    return messages


def _delivery_id(message: Message) -> DeliveryId:
    return DeliveryId(RecordId(message.partition(), message.offset()), message.delivery_count())


def _verdict(message: Message) -> Verdict:
    return verdict_on(JobKind(message.value().decode()), delivery_count=message.delivery_count())


def _error_name(error: KafkaException | None) -> str | None:
    if error is None:
        return None
    return str(error.args[0].name()) if isinstance(error, KafkaException) else str(error)


def _tell(event: Event) -> None:
    print(encode(event), flush=True)


if __name__ == "__main__":
    main()
