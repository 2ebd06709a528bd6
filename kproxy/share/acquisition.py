"""What a fetch acquires that was never delivered before: whole record batches, or strictly so many offsets.

And what of all that it acquired is held still when it can be answered: much may happen before.

Source: KIP-932, "ShareFetch"; KIP-1206 (record limit); `SharePartition.acquireNewBatchRecords`, `createBatches`.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges

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
    """Offsets from `first_offset` to `last_offset` that a read found, never delivered before, and a budget for them.

    `extents` are the first and last offsets, inclusive, of whole record batches in ascending order. Offsets are
    counted, whether they hold a record or not. The budget is at least 1, and `first_offset` not above `last_offset`.
    """

    extents: Sequence[tuple[int, int]]
    first_offset: int
    last_offset: int
    budget: int

    @property
    def window_last(self) -> int:
        """The last offset that becomes part of the window: the end of the record batch in which the budget ends.

        Where it ends between two record batches, that offset itself.
        """
        wanted_last = self.first_offset + self.budget - 1
        if wanted_last >= self.last_offset:
            return self.last_offset
        index = bisect_right(self.extents, wanted_last, key=_FIRST_OFFSET) - 1
        batch_last = self.extents[index][1] if index >= 0 else wanted_last
        return min(max(wanted_last, batch_last), self.last_offset)

    def strict(self) -> list[AcquiredRange]:
        """Return as many offsets as the budget allows, as one range. Source: KIP-1206."""
        last_offset = min(self.last_offset, self.first_offset + self.budget - 1)
        return [AcquiredRange(self.first_offset, last_offset, 1)]

    def aligned(self, batch_size: int) -> list[AcquiredRange]:
        """Return whole record batches up to `window_last`, in pieces of about `batch_size`.

        A record batch is thus acquired by one member, and sent once. Each piece but the last has at least that
        many offsets and ends before a record batch.
        """
        last_offset = self.window_last
        first_offset = self.first_offset
        piece_size = max(batch_size, 1)
        ranges: list[AcquiredRange] = []
        if last_offset - first_offset + 1 > piece_size:
            for batch_first in [first for first, _ in self.extents if first <= last_offset]:
                if batch_first - first_offset >= piece_size:
                    ranges.append(AcquiredRange(first_offset, batch_first - 1, 1))
                    first_offset = batch_first
        ranges.append(AcquiredRange(first_offset, last_offset, 1))
        return ranges


def still_held(
    ranges: OffsetRanges,
    acquired: Sequence[AcquiredRange],
    is_owner: Callable[[AcquisitionLock], bool],
) -> list[AcquiredRange]:
    """Return what of `acquired` is in `ranges` under a lock of which `is_owner` is true, and at the same count.

    So is what the log has lost: nobody gets it again. Where all of it is, that is `acquired`.
    """
    return [held for piece in acquired for held in _held_of(ranges, piece, is_owner)]


def _held_of(
    ranges: OffsetRanges, piece: AcquiredRange, is_owner: Callable[[AcquisitionLock], bool]
) -> Iterator[AcquiredRange]:
    """Yield the parts of `piece`, as long as they can be."""
    first_offset, count = piece.first_offset, piece.delivery_count
    next_offset = max(first_offset, min(ranges.lost_below, piece.last_offset + 1))
    for run in _inside(ranges, next_offset, piece.last_offset):
        is_held = run.lock is not None and run.delivery_count == count and is_owner(run.lock)
        if not is_held or run.first_offset > next_offset:
            if first_offset < next_offset:
                yield AcquiredRange(first_offset, next_offset - 1, count)
            first_offset = run.first_offset if is_held else run.last_offset + 1
        next_offset = run.last_offset + 1
    if first_offset < next_offset:
        yield AcquiredRange(first_offset, next_offset - 1, count)


def _inside(ranges: OffsetRanges, first_offset: int, last_offset: int) -> Sequence[InFlightRange]:
    """Return the runs that are in flight from `first_offset` to `last_offset`."""
    first_offset, last_offset = (
        max(first_offset, ranges.start_offset),
        min(last_offset, ranges.end_offset - 1),
    )
    return ranges.clipped(first_offset, last_offset) if first_offset <= last_offset else ()
