"""A topic of the state log for Spark: where it is, and its records as batches of rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from kproxy.clients.failures import TopicNotThere, WrongClientOption
from kproxy.clients.log_ranges import LogRange
from kproxy.clients.topic_reader import KNOWN_OPTIONS, TopicReader, connected
from kproxy.jobs.failures import JobFailed, as_job_failures
from kproxy.jobs.sources.client_properties import client_options
from kproxy.jobs.sources.raw_records import batch_of

_CLIENT_OPTIONS: Final[Mapping[str, object]] = {
    "client_id": "kproxy-replay",
    "auto_offset_reset": "none",
    "max_poll_records": 10_000,
    "max_partition_fetch_bytes": 8 * 2**20,
    # Only what is there is read. A broker that waits for more keeps the connection from the next range.
    "fetch_max_wait_ms": 20,
}
"""What the consumer is made with, unless `-K` says otherwise."""


class LogConsumer(Protocol):
    """A connection to a topic of the state log."""

    def ranges(self) -> Sequence[LogRange]:
        """Return what each partition holds now, ascending. Raises JobFailed."""
        ...

    def batches(self, wanted: LogRange) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range in order, as rows. Raises JobFailed when some are gone."""
        ...


class LogTopic(Protocol):
    """A topic of the state log that can be connected to, on the driver and on executors."""

    def consumer(self) -> AbstractContextManager[LogConsumer]:
        """Connect for the length of a block. Raises JobFailed."""
        ...


class TopicConsumer(TopicReader):
    """A `TopicReader` that packs records into rows."""

    def batches(self, wanted: LogRange) -> Iterator[pa.RecordBatch]:
        """Yield the records of a range in order, as rows. Raises NotThere when the log begins later by now."""
        return (batch_of(wanted.partition, records) for records in self.polls(wanted))


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic, and how to connect to its cluster: `properties` are those of Kafka clients, beside the servers."""

    bootstrap_servers: str
    name: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def consumer(self) -> Iterator[TopicConsumer]:
        """Connect for the length of the block; what fails in it is a JobFailed. CANNOT_CONNECT: nobody answers."""
        options = {**_CLIENT_OPTIONS, **client_options(self.properties, KNOWN_OPTIONS)}
        with as_job_failures():
            try:
                with connected(self.bootstrap_servers.split(","), options) as consumer:
                    yield TopicConsumer(consumer, self.name)
            except TopicNotThere as failure:
                advice = "another name is given with --state-topic or --groups-topic"
                raise JobFailed(f"{failure}; {advice}", failure.exit_code) from failure
            except WrongClientOption as failure:
                raise JobFailed(f"-K: {failure}", failure.exit_code) from failure
