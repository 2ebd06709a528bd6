"""What a fetch acquires that was never delivered before: whole record batches, or strictly so many offsets.

Source: KIP-932, "ShareFetch"; KIP-1206 (record limit); `SharePartition.acquire`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

_FIRST_OFFSET: Final = itemgetter(0)


@dataclass(slots=True)
class AcquiredRange:
    """Offsets `first_offset` to `last_offset`, both inclusive, that a member now holds at this count.

    Offsets that hold no record (compacted away, control records) may be among them; clients say GAP of those.
    """

    first_offset: int
    last_offset: int
    delivery_count: int


@dataclass(slots=True)
class NewOffsets:
    """The offsets that a read found from `first_offset` on, never delivered before, and a budget for them.

    `extents` are the first and last offsets, inclusive, of whole record batches in ascending order; the
    last one is not below `first_offset`. Offsets are counted, whether they hold a record or not.
    """

    extents: Sequence[tuple[int, int]]
    first_offset: int
    budget: int

    def strict(self) -> list[AcquiredRange]:
        """Return as many offsets as the budget allows, as one range. Source: KIP-1206."""
        last_offset = min(self.extents[-1][1], self.first_offset + self.budget - 1)
        return [AcquiredRange(self.first_offset, last_offset, 1)]

    def aligned(self, batch_size: int) -> list[AcquiredRange]:
        """Return whole record batches up to where the budget ends, in pieces of about `batch_size`.

        A record batch is thus acquired by one member, and sent once. Each piece but the last has at least that
        many offsets and ends where a record batch ends. Source: `SharePartition.createBatches`.
        """
        last_offset = self._aligned_last()
        first_offset = self.first_offset
        piece_size = max(batch_size, 1)
        ranges: list[AcquiredRange] = []
        if last_offset - first_offset + 1 > piece_size:
            for batch_last in [last for _, last in self.extents if last < last_offset]:
                if batch_last - first_offset + 1 >= piece_size:
                    ranges.append(AcquiredRange(first_offset, batch_last, 1))
                    first_offset = batch_last + 1
        ranges.append(AcquiredRange(first_offset, last_offset, 1))
        return ranges

    def _aligned_last(self) -> int:
        """Return the end of the batch in which the budget ends; between two, of the earlier if it may be."""
        extents = self.extents
        wanted_last = self.first_offset + self.budget - 1
        if wanted_last >= extents[-1][1]:
            return extents[-1][1]
        index = max(bisect_right(extents, wanted_last, key=_FIRST_OFFSET) - 1, 0)
        while extents[index][1] < self.first_offset:
            index += 1
        return extents[index][1]
