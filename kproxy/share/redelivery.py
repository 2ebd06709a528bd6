"""What a fetch acquires inside the window: AVAILABLE offsets in order, failing ones sparingly.

Source: KIP-932, "In-flight records"; KAFKA-17541; `SharePartition.acquire`, `acquireSubsetBatchRecords`.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.share.acquisition import AcquiredRange, NewOffsets
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges, joined
from kproxy.share.record_state import RecordState

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED


class DeliveryBatches:
    """Which offsets of the window were first acquired together: the portions that failure divides.

    Only the first offset of each is kept; a batch reaches to the next one, the last to the end of the window. What lies
    between loaded state batches is *undelivered*: acquired as new offsets are, and divided by that.
    """

    __slots__ = ("_firsts", "_undelivered")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._undelivered: set[int] = set()
        """The first offsets of those that were never delivered, and whose record batches are not known."""

    def begin(self, first_offset: int) -> None:
        """Begin a batch at an offset above all others."""
        self._firsts.append(first_offset)

    def begin_undelivered(self, first_offset: int) -> None:
        """Begin a batch of offsets, above all others, that lie before later state batches and were never delivered."""
        self.begin(first_offset)
        self._undelivered.add(first_offset)

    def is_undelivered(self, first_offset: int) -> bool:
        """Tell whether the batch that begins here lies between loaded ones, and nothing of it was delivered."""
        return first_offset in self._undelivered

    def deliver(self, pieces: Iterable[int], *, undelivered_from: int | None) -> None:
        """Let batches begin at `pieces`, ascending offsets of one undelivered batch.

        What lies below the first stays undelivered, and so does what lies behind, from `undelivered_from` on.
        """
        self._undelivered.difference_update(pieces)
        begun = [*pieces]
        if undelivered_from is not None:
            self._undelivered.add(undelivered_from)
            begun.append(undelivered_from)
        low, high = bisect_left(self._firsts, begun[0]), bisect_right(self._firsts, begun[-1])
        self._firsts[low:high] = begun

    def extent(self, offset: int, *, end_offset: int) -> tuple[int, int]:
        """Return the first and last offset of the batch with `offset`, in a window up to `end_offset`."""
        index = bisect_right(self._firsts, offset)
        last_offset = self._firsts[index] - 1 if index < len(self._firsts) else end_offset - 1
        return self._firsts[index - 1], last_offset

    def begin_again(self, first_offsets: Sequence[int]) -> None:
        """Let batches begin where they did before they were dropped: at these ascending offsets, one at least."""
        low = bisect_left(self._firsts, first_offsets[0])
        high = bisect_right(self._firsts, first_offsets[-1])
        self._firsts[low:high] = sorted({*self._firsts[low:high], *first_offsets})

    def drop_below(self, start_offset: int, *, end_offset: int) -> list[int]:
        """Forget the batches that lie below `start_offset`; return where they began, and where the next one does.

        One that is passed in part keeps its size.
        """
        if start_offset == end_offset:
            begun = [*self._firsts, end_offset]
            self._firsts.clear()
            self._undelivered.clear()
            return begun
        dropped = bisect_right(self._firsts, start_offset) - 1
        begun = self._firsts[: dropped + 1]
        if self._undelivered:
            self._undelivered.difference_update(begun[:-1])
        del self._firsts[:dropped]
        return begun


@dataclass(frozen=True, slots=True)
class RedeliveryTerms:
    """How much a fetch may acquire inside the window. `extents` are the record batches that it read."""

    extents: Sequence[tuple[int, int]]
    lock: AcquisitionLock
    budget: int
    batch_size: int
    delivery_count_limit: int
    is_record_limit: bool

    @property
    def throttled_from(self) -> int:
        """The delivery count from which on a batch is taken sparingly: half the limit, at least 2."""
        return max(2, (self.delivery_count_limit + 1) // 2)

    def is_last_attempt(self, delivery_count: int) -> bool:
        """Tell whether a record that was delivered so often is delivered once more, alone."""
        return delivery_count == self.delivery_count_limit - 1 > 1


class Redelivery:
    """Acquires AVAILABLE offsets of the window in order, with regard to how often each was delivered.

    Delivery batch after delivery batch, until the budget is spent; the one in which that happens is taken
    whole unless the limit is strict. Records that fail again and again are isolated, so that one that
    crashes its consumer does not take its neighbours to the delivery count limit:

    1. A batch is taken only when nothing else was, and after it the call takes nothing more, if an offset that was read
       of it was delivered half as often as the limit allows, and at least twice.
    2. The first such offset decides how much of it is taken: a half, a quarter, an eighth ... of the size of the batch.
       What was delivered less often before it counts, too; if that is as much already, nothing ends the taking.
    3. An offset before its last attempt travels alone, if the limit is above 2.

    Source: `SharePartition.acquire`, as of Kafka 4.2 (KAFKA-17541).
    """

    __slots__ = ("_batches", "_is_stopped", "_ranges", "_rewritten", "_taken_count", "_terms")

    def __init__(self, ranges: OffsetRanges, batches: DeliveryBatches, terms: RedeliveryTerms) -> None:
        self._taken_count = 0
        self._is_stopped = False
        self._rewritten: list[InFlightRange] = []
        self._ranges = ranges
        self._batches = batches
        self._terms = terms

    @property
    def budget_left(self) -> int:
        """How many new offsets may follow: none after a failing batch was taken, or before one comes."""
        return 0 if self._is_stopped else max(self._terms.budget - self._taken_count, 0)

    def take(self, first_offset: int, last_offset: int) -> list[AcquiredRange]:
        """Acquire from these offsets, both inside the window.

        Neighbours of one delivery batch with equal counts come back as one range.
        """
        first_offset = max(first_offset, self._ranges.first_available())
        if first_offset > last_offset:
            return []
        runs = deque(self._ranges.clipped(first_offset, last_offset))
        acquired: list[AcquiredRange] = []
        while runs and self.budget_left:
            if runs[0].state is _AVAILABLE:
                acquired += self._take_batch(runs)
            else:
                self._rewritten.append(runs.popleft())
        if self._taken_count:
            self._ranges.replace(self._rewritten)
        return acquired

    def _take_batch(self, runs: deque[InFlightRange]) -> list[AcquiredRange]:
        """Acquire from the delivery batch of the first of `runs`, and remove from `runs` what is of that batch."""
        end_offset = self._ranges.end_offset
        batch_first, batch_last = self._batches.extent(runs[0].first_offset, end_offset=end_offset)
        of_batch: list[InFlightRange] = []
        while runs and runs[0].first_offset <= batch_last:
            run = runs.popleft()
            if run.last_offset > batch_last:
                runs.appendleft(run.part(batch_last + 1, run.last_offset))
                run = run.part(run.first_offset, batch_last)
            of_batch.append(run)
        if self._batches.is_undelivered(batch_first):
            return self._take_undelivered(of_batch[0], batch_last)
        return self._take_delivered(of_batch, batch_last - batch_first + 1)

    def _take_undelivered(self, run: InFlightRange, batch_last: int) -> list[AcquiredRange]:
        """Acquire as from new offsets. All that was read of the batch, and that the log still has, is in this run."""
        terms = self._terms
        new = NewOffsets(terms.extents, run.first_offset, run.last_offset, self.budget_left)
        acquired = new.strict() if terms.is_record_limit else new.aligned(terms.batch_size)
        undelivered_from = new.window_last + 1 if new.window_last < batch_last else None
        self._batches.deliver([piece.first_offset for piece in acquired], undelivered_from=undelivered_from)
        last_offset = acquired[-1].last_offset
        self._rewritten.append(self._acquired(run, last_offset))
        self._taken_count += last_offset - run.first_offset + 1
        return acquired

    def _take_delivered(self, runs: Sequence[InFlightRange], batch_size: int) -> list[AcquiredRange]:
        """Acquire what is allowed of one delivery batch; `runs` are what was read of it."""
        highest_count = max(run.delivery_count for run in runs if run.state is _AVAILABLE)
        if highest_count >= self._terms.throttled_from:
            self._is_stopped = True
            if self._taken_count:
                return []
        allowance = _Allowance(self._terms, self._terms.budget - self._taken_count, batch_size)
        rewritten: list[InFlightRange] = []
        for run in runs:
            if run.state is not _AVAILABLE:
                rewritten.append(run)
                continue
            last_offset = allowance.last_taken_of(run)
            if last_offset >= run.first_offset:
                rewritten.append(self._acquired(run, last_offset))
            if allowance.is_used_up:
                break
        self._rewritten += rewritten
        self._taken_count += allowance.taken_count
        return [
            AcquiredRange(run.first_offset, run.last_offset, run.delivery_count)
            for run in joined(rewritten)
            if run.lock is self._terms.lock
        ]

    def _acquired(self, run: InFlightRange, last_offset: int) -> InFlightRange:
        return InFlightRange(
            run.first_offset, last_offset, _ACQUIRED, run.delivery_count + 1, self._terms.lock
        )


class _Allowance:
    """How much of one delivery batch may be taken, run after run."""

    __slots__ = ("_batch_size", "_ends", "_is_throttled", "_terms", "is_used_up", "taken_count")

    def __init__(self, terms: RedeliveryTerms, budget: int, batch_size: int) -> None:
        self._terms = terms
        self._batch_size = batch_size
        self._ends: list[int] = [budget] if terms.is_record_limit else []
        """With so many taken nothing more is; the second one is that of a batch that fails."""
        self._is_throttled = False
        self.taken_count = 0
        self.is_used_up = False

    def last_taken_of(self, run: InFlightRange) -> int:
        """Count what may be taken of the next AVAILABLE run; return its last offset, or the one below the run."""
        is_last_attempt = self._terms.is_last_attempt(run.delivery_count)
        if is_last_attempt and self.taken_count:
            self.is_used_up = True
            return run.first_offset - 1
        self._throttle(run.delivery_count)
        count = 1 if is_last_attempt else run.last_offset - run.first_offset + 1
        # Only an end that is met ends it, as on a stock broker: one that was passed when it was found does not.
        ends = [end for end in self._ends if self.taken_count < end <= self.taken_count + count]
        count = min(ends, default=self.taken_count + count) - self.taken_count
        self.taken_count += count
        self.is_used_up = bool(ends) or is_last_attempt
        return run.first_offset + count - 1

    def _throttle(self, delivery_count: int) -> None:
        beyond = delivery_count - self._terms.throttled_from
        if beyond >= 0 and not self._is_throttled:
            self._is_throttled = True
            self._ends.append(max(1, self._batch_size >> (beyond + 1)))
