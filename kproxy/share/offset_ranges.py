"""The in-flight window of a share-partition as an ordered list of runs of equal offsets.

One representation for everything: a record batch acquired whole is one run, a single offset is a run of one.
Memory and time follow the number of runs, not of records. Measured against trees, dictionaries and byte
arrays, a plain list with bisection and one slice assignment per change is the fastest at every workload.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, MemberId
from kproxy.share.record_state import RecordState

MOST_RUNS: Final = 10_000
"""An acknowledgement that cuts runs leaves no more than these in a window: as many as records may be in flight of a
share-partition (`share.partition.max.record.locks` at its highest). Only a wide record batch at the end of a window
could be cut into more. What goes through all of them is one turn of the event loop, and one record of the state log."""

MOST_RUNS_AT_ONCE: Final = 12_000
"""So many runs one acknowledgement may settle. And with so many of which any is held nothing more is acquired from a
window: each fetch cuts one."""

_RUNS_OF_ONE_CHANGE: Final = 32
"""To go through so many runs takes as long as to change one in the middle of all others."""

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED


@dataclass(slots=True, eq=False)
class AcquisitionLock:
    """What one call acquired (or renewed) for a member, until `deadline_ms`. Locks are compared by identity.

    It was taken `duration_ms` before: what locks of the group lasted then, whatever they last by now.

    It belongs to the share session that the call came in: the one of that number which the member had with the
    virtual broker `node_id`. Every offset held under the lock lies between `first_offset` and `last_offset`, both
    inclusive; not every offset between them is, or still is, held under it.
    """

    member_id: MemberId
    deadline_ms: int
    first_offset: int = -1
    last_offset: int = -1
    node_id: int = BOOTSTRAP_NODE_ID
    session_number: int = 0
    duration_ms: int = 0

    @classmethod
    def taken(
        cls, member_id: MemberId, now_ms: int, duration_ms: int, node_id: int, session_number: int
    ) -> "AcquisitionLock":
        """Return the lock of what a member takes at `now_ms`, for `duration_ms`."""
        return cls(member_id, now_ms + duration_ms, -1, -1, node_id, session_number, duration_ms)

    def belongs_to(self, member_id: MemberId, node_id: int, session_number: int) -> bool:
        """Tell whether it is of this member's share session of this number, or of one before it, with this broker.

        A session that is replaced leaves its locks to its successor.
        """
        return (
            self.member_id == member_id and self.node_id == node_id and self.session_number <= session_number
        )

    def cover(self, first_offset: int, last_offset: int) -> None:
        """Reach from `first_offset`, unless it reached further down already, to `last_offset`."""
        self.first_offset = first_offset if self.first_offset < 0 else min(self.first_offset, first_offset)
        self.last_offset = last_offset


@dataclass(slots=True)
class InFlightRange:
    """Offsets `first_offset` to `last_offset`, both inclusive, that share state, delivery count and lock.

    Never changed once made. `lock` is None unless the state is ACQUIRED. ARCHIVED with a delivery count of
    0 is a hole: no record was ever delivered from there because the log holds none.
    """

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int
    lock: AcquisitionLock | None

    @property
    def is_hole(self) -> bool:
        """Nothing was ever there to deliver."""
        return self.delivery_count == 0 and self.state is RecordState.ARCHIVED

    def part(self, first_offset: int, last_offset: int) -> "InFlightRange":
        """Return these offsets of the run, which must lie inside it."""
        if first_offset == self.first_offset and last_offset == self.last_offset:
            return self
        return InFlightRange(first_offset, last_offset, self.state, self.delivery_count, self.lock)


class OffsetRanges:
    """Runs that follow each other without a gap from `start_offset` up to, not including, `end_offset`.

    Runs are maximal: neighbours differ in state, delivery count or lock. How many offsets are AVAILABLE and
    how many are terminal is known at any time.
    """

    __slots__ = (
        "_available_from",
        "_firsts",
        "_ranges",
        "available_count",
        "end_offset",
        "lost_below",
        "terminal_count",
    )

    def __init__(self, start_offset: int) -> None:
        self.end_offset = start_offset
        self.available_count = 0
        self.terminal_count = 0
        self.lost_below = 0
        """What lies below is known to be lost: the window began behind it (`drop_below`)."""
        self._ranges: list[InFlightRange] = []
        self._firsts: list[int] = []
        self._available_from = start_offset

    def __len__(self) -> int:
        return len(self._ranges)

    def __iter__(self) -> Iterator[InFlightRange]:
        return iter(self._ranges)

    @property
    def start_offset(self) -> int:
        """The first offset of the window; equals `end_offset` when it is empty."""
        return self._firsts[0] if self._firsts else self.end_offset

    @property
    def is_held(self) -> bool:
        """Whether any offset is ACQUIRED."""
        return self.end_offset - self.start_offset > self.available_count + self.terminal_count

    def copy(self) -> "OffsetRanges":
        """Return the same window, to be changed apart from this one."""
        copied = OffsetRanges(self.end_offset)
        copied.available_count, copied.terminal_count = self.available_count, self.terminal_count
        copied.lost_below, copied._available_from = self.lost_below, self._available_from
        copied._ranges, copied._firsts = self._ranges.copy(), self._firsts.copy()
        return copied

    def first_available(self) -> int:
        """Return the lowest AVAILABLE offset, `end_offset` when there is none."""
        if not self.available_count:
            return self.end_offset
        index = max(bisect_right(self._firsts, self._available_from) - 1, 0)
        while self._ranges[index].state is not _AVAILABLE:
            index += 1
        self._available_from = self._firsts[index]
        return self._available_from

    def clipped(self, first_offset: int, last_offset: int) -> list[InFlightRange]:
        """Return the runs from `first_offset` to `last_offset`, both inside, the outer ones cut to fit."""
        low = bisect_right(self._firsts, first_offset) - 1
        high = bisect_right(self._firsts, last_offset)
        ranges = self._ranges[low:high]
        if (first := ranges[0]).first_offset < first_offset:
            ranges[0] = first.part(first_offset, first.last_offset)
        if (last := ranges[-1]).last_offset > last_offset:
            ranges[-1] = last.part(last.first_offset, last_offset)
        return ranges

    def replace(self, ranges: Sequence[InFlightRange]) -> None:
        """Put `ranges`, which follow each other without a gap, in place of the offsets they cover."""
        first_offset, last_offset = ranges[0].first_offset, ranges[-1].last_offset
        low = bisect_right(self._firsts, first_offset) - 1
        high = bisect_right(self._firsts, last_offset)
        before, after = self._ranges[low], self._ranges[high - 1]
        # What stays of the runs that are cut, or else the neighbours, takes part: equal runs must join.
        head: Sequence[InFlightRange] = ()
        if before.first_offset < first_offset:
            head = (before.part(before.first_offset, first_offset - 1),)
        elif low:
            low -= 1
            head = (self._ranges[low],)
        tail: Sequence[InFlightRange] = ()
        if after.last_offset > last_offset:
            tail = (after.part(last_offset + 1, after.last_offset),)
        elif high < len(self._ranges):
            tail = (self._ranges[high],)
            high += 1
        self._substitute(low, high, joined((*head, *ranges, *tail)))

    def rewrite(self, lists: Sequence[Sequence[InFlightRange]]) -> None:
        """Put `lists`, which are ascending, in place in turn, as `replace` does with each.

        One may begin with the last offset of the one before. Many are put in place at once, with what lies between.
        """
        if len(lists) <= 1 or len(lists) * _RUNS_OF_ONE_CHANGE <= len(self._ranges):
            for runs in lists:
                self.replace(runs)
            return
        whole: list[InFlightRange] = []
        for runs in lists:
            first_offset = runs[0].first_offset
            if whole and (last := whole[-1]).last_offset >= first_offset:
                whole.pop()
                if last.first_offset < first_offset:
                    whole.append(last.part(last.first_offset, first_offset - 1))
            elif whole and last.last_offset + 1 < first_offset:
                whole += self.clipped(last.last_offset + 1, first_offset - 1)
            whole += runs
        self.replace(whole)

    def append(self, added: InFlightRange) -> None:
        """Add a run that begins at `end_offset`."""
        low = len(self._ranges)
        if low:
            low -= 1
        self._substitute(low, len(self._ranges), joined((*self._ranges[low:], added)))
        self.end_offset = added.last_offset + 1

    def prepend(self, added: Iterable[InFlightRange]) -> None:
        """Add runs of which the last ends right before `start_offset`, and with which the window begins then."""
        high = min(len(self._ranges), 1)
        self._substitute(0, high, joined((*added, *self._ranges[:high])))

    def drop_below(self, offset: int) -> None:
        """Let the window begin at `offset`, which is inside it or its end; what lies below is lost."""
        self.lost_below = offset
        if offset == self.start_offset:
            return
        if offset == self.end_offset:
            self._substitute(0, len(self._ranges), [])
            return
        index = bisect_right(self._firsts, offset) - 1
        cut = self._ranges[index]
        self._substitute(0, index + 1, [cut.part(offset, cut.last_offset)])

    def drop_terminal_prefix(self) -> Sequence[InFlightRange]:
        """Let the window begin at its first offset that is not done with; return the runs below that."""
        dropped = list(takewhile(_is_done_with, self._ranges))
        if dropped:
            self._substitute(0, len(dropped), [])
        return dropped

    def _substitute(self, low: int, high: int, ranges: list[InFlightRange]) -> None:
        self._count(self._ranges[low:high], -1)
        self._count(ranges, 1)
        self._ranges[low:high] = ranges
        self._firsts[low:high] = [run.first_offset for run in ranges]

    def _count(self, ranges: Iterable[InFlightRange], sign: int) -> None:
        """Count runs that come (1) or go (-1), and remember below which offset nothing is AVAILABLE."""
        for run in ranges:
            if run.state is _ACQUIRED:
                continue
            offset_count = sign * (run.last_offset - run.first_offset + 1)
            if run.state is _AVAILABLE:
                self.available_count += offset_count
                self._available_from = min(self._available_from, run.first_offset)
            else:
                self.terminal_count += offset_count


def _is_done_with(run: InFlightRange) -> bool:
    return run.state is not _AVAILABLE and run.state is not _ACQUIRED


def joined(ranges: Iterable[InFlightRange]) -> list[InFlightRange]:
    """Return the ascending runs with equal neighbours made one; runs with a gap between them are none."""
    result: list[InFlightRange] = []
    last: InFlightRange | None = None
    for run in ranges:
        if (
            last is not None
            and last.last_offset + 1 == run.first_offset
            and last.state is run.state
            and last.delivery_count == run.delivery_count
            and last.lock is run.lock
        ):
            last = InFlightRange(last.first_offset, run.last_offset, run.state, run.delivery_count, run.lock)
            result[-1] = last
        else:
            last = run
            result.append(run)
    return result
