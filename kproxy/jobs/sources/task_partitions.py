"""What one task of `kproxy-statelog` reads, in a batch or in a micro-batch of a stream: ranges of offsets."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.failures import told_to_driver
from kproxy.jobs.sources.kafka_log import LogTopic


class TaskPartition(InputPartition):
    """What one task reads. Spark starts one task even for no ranges."""

    def __init__(self, ranges: Iterable[LogRange]) -> None:
        super().__init__([astuple(part) for part in ranges])

    @property
    def ranges(self) -> list[LogRange]:
        """The offsets, in the order in which they are read."""
        return [LogRange(*numbers) for numbers in self.value]


def read_ranges(topic: LogTopic, ranges: Sequence[LogRange]) -> Iterator[pa.RecordBatch]:
    """Yield the records of ranges, one after the other, on an executor and by one connection.

    Failures are raised in the form that the driver understands.
    """
    if not ranges:
        return
    with told_to_driver(), topic.consumer() as consumer:
        for part in ranges:
            yield from consumer.batches(part)


def slots_in(options: Mapping[str, str]) -> int:
    """Return how many tasks run at once, by the options of the source."""
    return int(options.get("slots") or os.cpu_count() or 1)
