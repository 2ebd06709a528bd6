"""`FoundBytes`: what a fetch that waits for MinBytes has found so far, so that it is not read again for every record.

While there is too little, each round reads only what was added since the last one, and a few bytes of that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kproxy.error_codes import ErrorCode
from kproxy.handlers.fetching.read_batches import ReadBatches
from kproxy.handlers.live.read_sizes import SMALLEST_READ_BYTES
from kproxy.handlers.ports import PartitionData, PartitionRead
from kproxy.share.identifiers import TopicIdPartition


@dataclass(slots=True)
class _Found:
    """The log has `size_bytes` from `fetch_offset` to `end_offset` (exclusive): what may be read ends there."""

    fetch_offset: int
    end_offset: int
    size_bytes: int


class FoundBytes:
    """What one fetch found of each partition, from the offset at which it would acquire."""

    __slots__ = ("_found", "may_begin_anew")

    def __init__(self) -> None:
        self.may_begin_anew = True
        self._found: dict[TopicIdPartition, _Found] = {}

    def begin_anew(self) -> bool:
        """Have everything read from its beginning again, if that may be; not twice in a row, or it would not end."""
        if not self.may_begin_anew:
            return False
        self.may_begin_anew = False
        self._found.clear()
        return True

    def note(self, partition: TopicIdPartition, fetch_offset: int, end_offset: int, size_bytes: int) -> None:
        """Remember what a read from `fetch_offset` found."""
        self._found[partition] = _Found(fetch_offset, end_offset, size_bytes)

    def is_known_from(self, offsets: Mapping[TopicIdPartition, int]) -> bool:
        """Tell whether every one of `offsets` is where the last read of its partition began."""
        return all(
            partition in self._found and self._found[partition].fetch_offset == offset
            for partition, offset in offsets.items()
        )

    def total(self, partitions: Iterable[TopicIdPartition]) -> int:
        """Return how many bytes these partitions have together, as far as they were found."""
        found = self._found
        return sum(found[partition].size_bytes for partition in partitions if partition in found)

    def reads_of_added(self, partitions: Sequence[TopicIdPartition]) -> list[PartitionRead]:
        """Return reads of what was added, `SMALLEST_READ_BYTES` together."""
        share_bytes = max(SMALLEST_READ_BYTES // len(partitions), 1)
        return [
            PartitionRead(each.topic_id, each.partition, self._found[each].end_offset, share_bytes)
            for each in partitions
        ]

    def add(self, partition: TopicIdPartition, data: PartitionData) -> bool:
        """Count what a read of what was added returned; False when nothing is known: it failed, or had no room.

        Where it had no room, what was added is taken to be like what was there before, if there was anything.
        """
        found = self._found[partition]
        if data.error_code is not ErrorCode.NONE or data.readable_end < found.end_offset:
            return False
        offset = found.end_offset
        added_count = data.readable_end - offset
        batches = ReadBatches(data.records, offset, added_count)
        if batches.extents:
            found.size_bytes += batches.bytes_in_log(data.readable_end)
        elif added_count and not found.size_bytes:
            return False
        else:
            found.size_bytes += found.size_bytes * added_count // max(offset - found.fetch_offset, 1)
        found.end_offset = data.readable_end
        return not batches.malformed
