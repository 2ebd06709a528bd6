"""How many bytes to read for a wanted number of records.

A stock broker reads from its own disk and sends only what was acquired. kproxy pays for every byte that it
reads and does not pass on, and clients ask for tens of megabytes but for 500 records. Pure arithmetic.
"""

from typing import Final

FIRST_READ_BYTES: Final = 1024 * 1024
"""As long as nothing is known of the records: Kafka's `max.partition.fetch.bytes`."""

SMALLEST_READ_BYTES: Final = 64 * 1024
"""Below this the round trip costs more than the bytes."""

_HEADROOM: Final = 1.05
"""Records differ in size. A read that turns out too small for all of them costs less than bytes read in vain."""

_WEIGHT_OF_NEWEST: Final = 0.3


class ReadSize:
    """The running average of bytes for each offset of one partition.

    `is_first_due` tells that a read brought nothing although there was something: the next record batch is larger than
    what was left for it. A broker sends such a batch only for the first partition of a request that has any records
    (`ReplicaManager.readFromLog`), so this one is to come first.
    """

    __slots__ = ("_bytes_per_offset", "is_first_due")

    def __init__(self) -> None:
        self.is_first_due = False
        self._bytes_per_offset: float | None = None

    def observe(self, *, size_bytes: int, offset_count: int) -> None:
        """Learn from a read of `size_bytes` that covered `offset_count` offsets."""
        if offset_count <= 0:
            return
        seen = size_bytes / offset_count
        before = seen if self._bytes_per_offset is None else self._bytes_per_offset
        self._bytes_per_offset = before + _WEIGHT_OF_NEWEST * (seen - before)

    def bytes_of(self, offset_count: int) -> int:
        """Return how many bytes so many offsets probably have; 0 when nothing is known of them."""
        return int((self._bytes_per_offset or 0) * max(offset_count, 0))

    def bytes_for(self, record_count: int) -> int:
        """Return how many bytes probably hold `record_count` records."""
        if self._bytes_per_offset is None:
            return FIRST_READ_BYTES
        return max(SMALLEST_READ_BYTES, int(self._bytes_per_offset * record_count * _HEADROOM))
