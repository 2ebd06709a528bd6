"""Producing and consuming with confluent-kafka as fast as it goes, and what that costs a relay."""

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.benchmarks.comparison import Quantity
from tests.benchmarks.process_accounting import cpu_use
from tests.benchmarks.workload import Arm
from tests.real_kafka import administration

PARTITIONS: Final = 4
TIMEOUT_SECONDS: Final = 60.0
POLLED_AT_ONCE: Final = 5_000
SERVED_EVERY: Final = 2_000
WARNING_LEVEL: Final = 4

RATE: Final = Quantity("rate", "MB/s", 0)
"""10^6 bytes of record values a second."""
CPU_PER_GB: Final = Quantity("relay CPU", "s/GB", 3)
"""Seconds per 10^9 bytes of record values."""

# Batches are of the client's own default size, up to a megabyte.
PRODUCER_SETTINGS: Final = {
    "acks": "all",
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 128 * 1024,
    "delivery.report.only.error": True,
}
CONSUMER_SETTINGS: Final = {
    "group.id": "none",
    "enable.auto.commit": False,
    # With its defaults the client pauses fetching for up to a second whenever its queue is full.
    "queued.min.messages": 1_000_000,
    "fetch.queue.backoff.ms": 5,
}


class RecordsLost(RuntimeError):
    """Records were refused or did not come in time: there is nothing to compare."""


class ProduceRecords:
    """`count` records to a new topic, until the last one is acknowledged by all replicas."""

    def __init__(self, direct_address: str, *, record_bytes: int, count: int) -> None:
        """`direct_address` is where topics are made and removed: at the broker itself."""
        self.name = f"produce {record_bytes} B"
        self._direct_address = direct_address
        self._record_bytes = record_bytes
        self._count = count

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        topic = new_topic(self._direct_address)
        producer = _producer(arm.bootstrap_servers, arm.client_settings)
        producer.list_topics(topic, timeout=TIMEOUT_SECONDS)
        with cpu_use(arm.relay_process_id) as relay:
            started = time.perf_counter()
            _produce_all(producer, topic, bytes(self._record_bytes), self._count)
            elapsed = time.perf_counter() - started
        _check_end(self._direct_address, topic, self._count)
        _remove_topic(self._direct_address, topic)
        return _figures(self._record_bytes * self._count, elapsed, relay.seconds)


class ConsumeRecords:
    """All `count` records of a topic that is made for it, without a group, from the first fetched to the last."""

    def __init__(self, direct_address: str, *, record_bytes: int, count: int) -> None:
        self.name = f"consume {record_bytes} B"
        self.topic = new_topic(direct_address)
        """Stays as it is, for whoever wants to read it."""
        self._record_bytes = record_bytes
        self._count = count
        _produce_all(_producer(direct_address), self.topic, bytes(record_bytes), count)

    def measure(self, arm: Arm) -> Mapping[Quantity, float]:
        consumer = Consumer(
            {**CONSUMER_SETTINGS, **arm.client_settings, "bootstrap.servers": arm.bootstrap_servers}
        )
        consumer.list_topics(self.topic, timeout=TIMEOUT_SECONDS)
        with cpu_use(arm.relay_process_id) as relay:
            elapsed, counted = self._consume_all(consumer)
        consumer.close()
        figures = _figures(self._record_bytes * self._count, elapsed, relay.seconds)
        return {**figures, RATE: self._record_bytes * counted / elapsed / 1e6}

    def _consume_all(self, consumer: Consumer) -> tuple[float, int]:
        """Seconds since the first records were there, and how many came after them."""
        consumer.assign(
            [TopicPartition(self.topic, number, OFFSET_BEGINNING) for number in range(PARTITIONS)]
        )
        first = received = _received(consumer, self._count)
        started = time.perf_counter()
        while received < self._count:
            received += _received(consumer, self._count - received)
        return time.perf_counter() - started, received - first


def new_topic(address: str) -> str:
    """A topic of its own."""
    return administration.create_topic(
        address,
        administration.unique_name("bench"),
        partitions=PARTITIONS,
        topic_settings={"file.delete.delay.ms": "0"},
    )


def fill_topic(address: str, topic: str, value: bytes, count: int, *, batch_bytes: int) -> None:
    """Produce `count` records, in batches of up to `batch_bytes`. Raises `RecordsLost`."""
    _produce_all(_producer(address, {"batch.size": batch_bytes}), topic, value, count)
    _check_end(address, topic, count)


def _producer(address: str, more_settings: Mapping[str, int | str] | None = None) -> Producer:
    def refuse(error: KafkaError, _message: object) -> None:
        raise RecordsLost(str(error))

    settings = {**PRODUCER_SETTINGS, **(more_settings or {})}
    return Producer({**settings, "bootstrap.servers": address, "on_delivery": refuse})


def _produce_all(producer: Producer, topic: str, value: bytes, count: int) -> None:
    for number in range(count):
        while not _is_taken(producer, topic, value):
            producer.poll(0.01)
        if number % SERVED_EVERY == 0:
            producer.poll(0)
    left = producer.flush(TIMEOUT_SECONDS)
    if left:
        raise RecordsLost(f"{left} of {count} records are not acknowledged after {TIMEOUT_SECONDS:.0f} s")


def _is_taken(producer: Producer, topic: str, value: bytes) -> bool:
    try:
        producer.produce(topic, value)
    except BufferError:
        return False
    return True


def _received(consumer: Consumer, left: int) -> int:
    wanted = min(POLLED_AT_ONCE, left)
    # Waits until all of them are there.
    messages = consumer.consume(wanted, TIMEOUT_SECONDS)
    if len(messages) < wanted:
        raise RecordsLost(f"{len(messages)} of {wanted} records came in {TIMEOUT_SECONDS:.0f} s")
    return wanted


def _check_end(address: str, topic: str, count: int) -> None:
    ends = [administration.end_offset(address, topic, number) for number in range(PARTITIONS)]
    if sum(ends) != count:
        raise RecordsLost(f"{count} records were produced and {sum(ends)} are there")


def _remove_topic(address: str, topic: str) -> None:
    # Without the log level it would say that it ends, each time.
    admin = AdminClient({"bootstrap.servers": address, "log_level": WARNING_LEVEL})
    admin.delete_topics([topic])[topic].result(TIMEOUT_SECONDS)


def _figures(value_bytes: int, elapsed: float, relay_seconds: float) -> dict[Quantity, float]:
    figures = {RATE: value_bytes / elapsed / 1e6}
    # No relay, no CPU of one.
    return {**figures, CPU_PER_GB: relay_seconds / value_bytes * 1e9} if relay_seconds else figures
