"""Logs to replay: generated into files, and into topics of a real broker."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, Producer

from kproxy.wire.records import Record
from tests.benchmarks.record_streams import PRODUCER_SETTINGS, TIMEOUT_SECONDS, RecordsLost
from tests.real_kafka import administration
from tests.spark.log_generator import PartitionWriter, records_of_partition, write_log

LOG_PARTITIONS: Final = 8
SHARE_PARTITIONS: Final = 800
"""Of logs that are not to tell how time grows with their number."""
SERVED_EVERY: Final = 1_000


@dataclass(frozen=True, slots=True)
class Log:
    """A log, and the options of `kproxy replay` that name it."""

    records: int
    options: Sequence[str]
    process_ids: Sequence[int] = ()
    """Of those who hold it."""


def log_in_files(folder: Path, write: PartitionWriter, share_partitions: int, records: int) -> Log:
    """Write a log of so many records; one that is there already is taken as it is."""
    place = folder / f"{write.__name__}-{records}-{share_partitions}"
    if not place.exists():
        write_log(place, write, records=records, share_partitions=share_partitions, partitions=LOG_PARTITIONS)
    return Log(records, ["--files", str(place)])


def log_in_topic(address: str, process_ids: Sequence[int], source: str, records: int) -> Log:
    """Produce a log of so many records to a new topic, to be read by one of the two ways."""
    topic = administration.create_topic(
        address, administration.unique_name("replay"), partitions=LOG_PARTITIONS
    )
    settings = {**PRODUCER_SETTINGS, "enable.idempotence": True}
    producer = Producer({**settings, "bootstrap.servers": address, "on_delivery": _refuse})
    each = records // LOG_PARTITIONS, SHARE_PARTITIONS // LOG_PARTITIONS
    for number in range(LOG_PARTITIONS):
        for record in records_of_partition(number, *each):
            _produce(producer, topic, number, record)
    if left := producer.flush(TIMEOUT_SECONDS):
        raise RecordsLost(f"{left} of {records} records are not acknowledged after {TIMEOUT_SECONDS:.0f} s")
    return Log(records, ["-b", address, "--source", source, "--state-topic", topic], process_ids)


def _produce(producer: Producer, topic: str, partition: int, record: Record) -> None:
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition,
                timestamp=record.timestamp_ms,
                headers=list(record.headers),
            )
        except BufferError:
            producer.poll(0.01)
        else:
            break
    if not record.offset % SERVED_EVERY:
        producer.poll(0)


def _refuse(error: KafkaError, _message: object) -> None:
    raise RecordsLost(str(error))
