"""`InMemoryTopic`: a topic of the state log that a test wrote. Serves as `LogTopic`, and as `LogConsumer`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.wire.records import Record


class InMemoryTopic:
    """Holds `held`, which the test may change, and the records of its partition 0."""

    def __init__(self, *held: LogRange, records: Sequence[Record] = ()) -> None:
        self.held: Sequence[LogRange] = held
        self.connection_count = 0
        """How often somebody connected."""
        self._records = records

    @contextmanager
    def consumer(self) -> Iterator["InMemoryTopic"]:
        self.connection_count += 1
        yield self

    def ranges(self) -> Sequence[LogRange]:
        return self.held

    def batches(self, wanted: LogRange) -> Iterator[pa.RecordBatch]:
        yield batch_of(
            0,
            [record for record in self._records if wanted.first_offset <= record.offset < wanted.end_offset],
        )
