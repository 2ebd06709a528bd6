"""What a fetch acquires that was delivered before: AVAILABLE offsets in order, failing ones sparingly.

Source: KIP-932, "In-flight records"; KAFKA-17541; `SharePartition.acquire`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.record_state import RecordState

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED


class DeliveryBatches:
    """Which offsets of the window were first acquired together: the portions that failure divides.

    Only the first offset of each is kept; a batch reaches to the next one, the last to the end of the window.
    """

    __slots__ = ("_firsts", "_undelivered_end")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._undelivered_end = 0
        """The end of the last gap between loaded state batches, exclusive."""

    def begin(self, first_offset: int) -> None:
        """Begin a batch at an offset above all others."""
        self._firsts.append(first_offset)

    def begin_undelivered(self, first_offset: int, last_offset: int) -> None:
        """Begin a batch of offsets that lie before later state batches and were never delivered, at any size."""
        self.begin(first_offset)
        self._undelivered_end = last_offset + 1

    def divide_undelivered(self, ranges: OffsetRanges, extents: Sequence[tuple[int, int]]) -> None:
        """Let the record batches of `extents` be the delivery batches of what was never delivered, as of new offsets.

        Nobody knew them when the state was loaded. Source: `SharePartition.InitialReadGapOffset`.
        """
        bounds = [*(first for first, _ in extents), extents[-1][1] + 1]
        first_offset = max(bounds[0], ranges.first_available())
        last_offset = min(bounds[-1], self._undelivered_end - 1, ranges.end_offset - 1)
        if first_offset > last_offset:
            return
        for run in ranges.clipped(first_offset, last_offset):
            if run.state is _AVAILABLE and run.delivery_count == 0:
                self._divide(run.first_offset, run.last_offset, bounds)

    def _divide(self, first_offset: int, last_offset: int, bounds: Sequence[int]) -> None:
        """Begin a batch at each of `bounds`, ascending, that lies in these offsets."""
        begun = bounds[bisect_left(bounds, first_offset) : bisect_right(bounds, last_offset)]
        low, high = bisect_left(self._firsts, first_offset), bisect_right(self._firsts, last_offset)
        self._firsts[low:high] = sorted({*self._firsts[low:high], *begun})

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
