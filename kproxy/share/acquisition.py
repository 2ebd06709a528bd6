"""Which offsets a fetch acquires: new ones along record batches, AVAILABLE ones again, failing ones sparingly.

Source: KIP-932, "In-flight records" and "ShareFetch"; KIP-1206 (record limit); `SharePartition.acquire`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.record_state import RecordState

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED
_FIRST_OFFSET: Final = itemgetter(0)


@dataclass(slots=True)
class AcquiredRange:
    """Offsets `first_offset` to `last_offset`, both inclusive, that a member now holds at this count.

    Offsets that hold no record (compacted away, control records) may be among them; clients say GAP of those.
    """

    first_offset: int
    last_offset: int
    delivery_count: int


class DeliveryBatches:
    """Which offsets of the window were first acquired together: the portions that failure divides.

    Only the first offset of each is kept; a batch reaches to the next one, the last to the end of the window.
    """

    __slots__ = ("_firsts",)

    def __init__(self) -> None:
        self._firsts: list[int] = []

    def begin(self, first_offset: int) -> None:
        """Begin a batch at an offset above all others."""
        self._firsts.append(first_offset)

    def extent(self, offset: int, *, end_offset: int) -> tuple[int, int]:
        """Return the first and last offset of the batch with `offset`, in a window up to `end_offset`."""
        index = bisect_right(self._firsts, offset)
        last_offset = self._firsts[index] - 1 if index < len(self._firsts) else end_offset - 1
        return self._firsts[index - 1], last_offset

    def drop_below(self, start_offset: int, *, end_offset: int) -> None:
        """Forget the batches that lie below `start_offset`; one that is passed in part keeps its size."""
        if start_offset == end_offset:
            self._firsts.clear()
        else:
            del self._firsts[: bisect_right(self._firsts, start_offset) - 1]


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
            for _, batch_last in self.extents:
                if batch_last >= last_offset:
                    break
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


class Redelivery:
    """Acquires AVAILABLE offsets of the window in order, with regard to how often each was delivered.

    Delivery batch after delivery batch, until the budget is spent; the one in which that happens is taken
    whole unless the limit is strict. Records that fail again and again are isolated, so that one that
    crashes its consumer does not take its neighbours to the delivery count limit:

    1. From half the limit on (at least 2) a batch is taken only when nothing else was, and of it no more than
       a half, a quarter, an eighth ... of its size; after it the call takes nothing more.
    2. An offset before its last attempt travels alone, if the limit is above 2.

    Source: `SharePartition.acquire`, as of Kafka 4.2 (KAFKA-17541).
    """

    __slots__ = (
        "_allowance",
        "_batch_last",
        "_batches",
        "_budget",
        "_delivery_count_limit",
        "_is_record_limit",
        "_is_stopped",
        "_lock",
        "_ranges",
        "_taken_count",
    )

    def __init__(
        self,
        ranges: OffsetRanges,
        batches: DeliveryBatches,
        *,
        lock: AcquisitionLock,
        budget: int,
        delivery_count_limit: int,
        is_record_limit: bool,
    ) -> None:
        self._taken_count = 0
        self._is_stopped = False
        self._ranges = ranges
        self._batches = batches
        self._lock = lock
        self._budget = budget
        self._delivery_count_limit = delivery_count_limit
        self._is_record_limit = is_record_limit
        self._batch_last = -1
        self._allowance = 0

    @property
    def budget_left(self) -> int:
        """How many new offsets may follow: none after a failing batch was taken, or before one comes."""
        return 0 if self._is_stopped else max(self._budget - self._taken_count, 0)

    def take(self, first_offset: int, last_offset: int) -> list[AcquiredRange]:
        """Acquire from these offsets, both inside the window; equal neighbours come back as one range."""
        first_offset = max(first_offset, self._ranges.first_available())
        if first_offset > last_offset:
            return []
        rewritten: list[InFlightRange] = []
        for run in self._ranges.clipped(first_offset, last_offset):
            if run.state is not _AVAILABLE:
                rewritten.append(run)
            elif not self._take_run(run, rewritten):
                break
        if not self._taken_count:
            return []
        self._ranges.replace(rewritten)
        return [
            AcquiredRange(run.first_offset, run.last_offset, run.delivery_count)
            for run in joined(rewritten)
            if run.lock is self._lock
        ]

    def _take_run(self, run: InFlightRange, rewritten: list[InFlightRange]) -> bool:
        """Acquire what is allowed of an AVAILABLE run; tell whether to go on after it."""
        is_last_attempt = run.delivery_count == self._delivery_count_limit - 1 > 1
        offset = run.first_offset
        while offset <= run.last_offset:
            if offset > self._batch_last and not self._enter_batch(offset):
                return False
            if not self._allowance or (is_last_attempt and self._taken_count):
                return False
            allowance = 1 if is_last_attempt else self._allowance
            last_offset = min(run.last_offset, self._batch_last, offset + allowance - 1)
            rewritten.append(
                InFlightRange(offset, last_offset, _ACQUIRED, run.delivery_count + 1, self._lock)
            )
            taken_count = last_offset - offset + 1
            self._taken_count += taken_count
            self._allowance -= taken_count
            if is_last_attempt:
                return False
            offset = last_offset + 1
        return True

    def _enter_batch(self, offset: int) -> bool:
        """Work out how much of the batch at `offset` may be taken; False when the call ends before it."""
        if self._is_stopped or self._taken_count >= self._budget:
            return False
        first_offset, last_offset = self._batches.extent(offset, end_offset=self._ranges.end_offset)
        size = last_offset - first_offset + 1
        halvings = self._halvings(max(first_offset, self._ranges.start_offset), last_offset)
        if halvings > 0:
            self._is_stopped = True
            if self._taken_count:
                return False
            size = max(1, size >> halvings)
        if self._is_record_limit:
            size = min(size, self._budget - self._taken_count)
        self._batch_last = last_offset
        self._allowance = size
        return True

    def _halvings(self, first_offset: int, last_offset: int) -> int:
        """Return how often to halve the batch, by the highest delivery count in it that is AVAILABLE."""
        highest = max(
            run.delivery_count
            for run in self._ranges.clipped(first_offset, last_offset)
            if run.state is _AVAILABLE
        )
        return highest + 1 - max(2, (self._delivery_count_limit + 1) // 2)
