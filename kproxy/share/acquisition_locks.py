"""`AcquisitionLocks`: when the locks of a share-partition end, and what becomes of its records then."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from kproxy.share.acknowledgement import state_after_attempt
from kproxy.share.limits import ShareLimits
from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges

_MOST_VOID_LOCKS: Final = 64
"""So many locks may be remembered of which nothing is held any more, or as many as there are runs of offsets."""


class AcquisitionLocks:
    """A heap of locks. It may hold some of which nothing is held any more: acknowledged, or renewed."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, AcquisitionLock]] = []
        self._count = 0

    def __len__(self) -> int:
        """How many locks are remembered."""
        return len(self._heap)

    @property
    def first_deadline_ms(self) -> int | None:
        """When the first of them ends; None when there is none."""
        return self._heap[0][0] if self._heap else None

    def add(self, lock: AcquisitionLock) -> None:
        """Remember when `lock` ends."""
        self._count += 1
        heappush(self._heap, (lock.deadline_ms, self._count, lock))

    def forget_void(self, runs: OffsetRanges) -> None:
        """Forget those under which none of `runs` is held, once they may be most of all."""
        if len(self._heap) <= _MOST_VOID_LOCKS + 2 * len(runs):
            return
        held = dict.fromkeys(run.lock for run in runs if run.lock is not None)
        self._heap = [(lock.deadline_ms, number, lock) for number, lock in enumerate(held, self._count + 1)]
        self._count += len(held)
        heapify(self._heap)

    def drop_below(self, start_offset: int) -> None:
        """Forget the oldest locks as long as every record of theirs lies below `start_offset`."""
        while self._heap and self._heap[0][-1].last_offset < start_offset:
            heappop(self._heap)

    def clear(self) -> None:
        """Forget all of them: nothing is held."""
        self._heap.clear()

    def take_ended(self, now_ms: int) -> list[AcquisitionLock]:
        """Return those whose deadline is at `now_ms` or before, and forget them."""
        ended: list[AcquisitionLock] = []
        while self._heap and self._heap[0][0] <= now_ms:
            ended.append(heappop(self._heap)[-1])
        return ended


@dataclass(slots=True)
class EndedAttempts:
    """What was held, and came back unsettled: as it was `before`, and as it is `after`; both empty when nothing was."""

    before: list[InFlightRange]
    after: list[InFlightRange]


def end_attempts(
    ranges: OffsetRanges,
    first_offset: int,
    last_offset: int,
    is_ended: Callable[[AcquisitionLock], bool],
    limits: ShareLimits,
) -> EndedAttempts:
    """Take back, in `ranges`, what is held from first to last offset, inclusive, under a lock that `is_ended`."""
    ended = EndedAttempts([], [])
    if first_offset > last_offset:
        return ended
    rewritten: list[InFlightRange] = []
    for run in ranges.clipped(first_offset, last_offset):
        if run.lock is None or not is_ended(run.lock):
            rewritten.append(run)
            continue
        state = state_after_attempt(run, limits)
        ended.before.append(run)
        ended.after.append(InFlightRange(run.first_offset, run.last_offset, state, run.delivery_count, None))
        rewritten.append(ended.after[-1])
    if ended.after:
        ranges.replace(rewritten)
    return ended
