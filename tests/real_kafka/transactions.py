"""Records written in transactions that are committed, aborted, or left open."""

import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.real_kafka.administration import ANSWER_TIMEOUT_SECONDS, produce_with

LONGEST_LINGER_MS: Final = 5_000
"""Records that are flushed together make one batch, unless the first one had to wait for its transaction."""


class TransactionalProducer:
    """A producer with a transactional id, on partition 0 of one topic."""

    def __init__(self, bootstrap_servers: str, topic: str, *, transactional_id: str) -> None:
        """Connect; whatever a producer of the same id has left open is aborted."""
        self._servers, self._topic = bootstrap_servers, topic
        self._is_open = False
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "transactional.id": transactional_id,
                "linger.ms": LONGEST_LINGER_MS,
            }
        )
        self._producer.init_transactions(ANSWER_TIMEOUT_SECONDS)

    def write(self, values: Sequence[str], *, partition: int = 0) -> list[int]:
        """Write in the open transaction, or in a new one; the offsets of the records."""
        if not self._is_open:
            self._producer.begin_transaction()
            self._is_open = True
        return produce_with(self._producer, self._topic, values, partition=partition)

    def commit(self) -> None:
        """Commit what was written."""
        self._producer.commit_transaction(ANSWER_TIMEOUT_SECONDS)
        self._is_open = False

    def abort(self) -> None:
        """Abort what was written."""
        self._producer.abort_transaction(ANSWER_TIMEOUT_SECONDS)
        self._is_open = False


def wait_until_stable(bootstrap_servers: str, topic: str, *, partition: int = 0) -> None:
    """Return when no transaction is open: brokers write its marker behind the answer to who ended it."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    while _end(admin, topic, partition, IsolationLevel.READ_COMMITTED) < _end(
        admin, topic, partition, IsolationLevel.READ_UNCOMMITTED
    ):
        assert time.monotonic() < deadline, f"a transaction in {topic}-{partition} is still open"


def _end(admin: AdminClient, topic: str, partition: int, isolation: IsolationLevel) -> int:
    asked = TopicPartition(topic, partition)
    answers = admin.list_offsets({asked: OffsetSpec.latest()}, isolation_level=isolation)
    return int(answers[asked].result(ANSWER_TIMEOUT_SECONDS).offset)
