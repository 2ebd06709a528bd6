"""`InMemoryLogSource`: a topic of the state log that a test wrote. Serves as `LogSource`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kproxy.clients.topic_reader import Span
from kproxy.wire.records import Record

WRITTEN_MS = 1_795_262_400_000


class InMemoryLogSource:
    """Partitions by number, each a list of records: the first of them has the offset of its place in the list.

    Each record is written a second after the one before.
    """

    def __init__(self, partitions: Mapping[int, Sequence[Record]]) -> None:
        self._partitions = partitions
        self.is_closed = False

    def spans(self) -> Sequence[Span]:
        return [Span(number, 0, len(records)) for number, records in sorted(self._partitions.items())]

    def records(self, span: Span) -> Iterator[Record]:
        for offset in range(span.first_offset, span.end_offset):
            record = self._partitions[span.partition][offset]
            yield replace(record, offset=offset, timestamp_ms=WRITTEN_MS + 1000 * offset)

    def close(self) -> None:
        self.is_closed = True
