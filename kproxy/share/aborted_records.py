"""Records that are archived although no attempt ended: those of aborted transactions, and what is gone from the log.

A group that reads committed records must not be given the former. What of them was acquired is archived at once, and
cut from what the member is told. This is not durable by itself: the next write counts them as done with, and until the
start offset passes them whoever loads the state judges them anew.

Source: `SharePartition.filterAbortedTransactionalAcquiredRecords`.
"""

from collections.abc import Sequence
from typing import Final

from kproxy.share.acquisition import AcquiredRange
from kproxy.share.offset_ranges import InFlightRange, OffsetRanges
from kproxy.share.record_state import RecordState

_AVAILABLE: Final = RecordState.AVAILABLE
_ACQUIRED: Final = RecordState.ACQUIRED
_ARCHIVED: Final = RecordState.ARCHIVED


def archive_missing(ranges: OffsetRanges, first_offset: int, last_offset: int) -> bool:
    """Archive what is AVAILABLE in these offsets, for a read found nothing there; tell whether anything was."""
    first_inside = max(first_offset, ranges.first_available())
    last_inside = min(last_offset, ranges.end_offset - 1)
    if first_inside > last_inside:
        return False
    runs = ranges.clipped(first_inside, last_inside)
    if not any(run.state is _AVAILABLE for run in runs):
        return False
    ranges.replace(
        [
            InFlightRange(run.first_offset, run.last_offset, _ARCHIVED, run.delivery_count, None)
            if run.state is _AVAILABLE
            else run
            for run in runs
        ]
    )
    return True


def archive_aborted(ranges: OffsetRanges, aborted: Sequence[tuple[int, int]]) -> None:
    """Archive what is acquired, by whomever, in the `aborted` offsets; their attempts count.

    `aborted` are first and last offsets, inclusive, ascending and disjoint. Another member may have acquired some of
    them before the group began to read committed records only; it is told so when it acknowledges them.
    """
    inside = (
        (max(first_offset, ranges.start_offset), min(last_offset, ranges.end_offset - 1))
        for first_offset, last_offset in aborted
    )
    ranges.rewrite(
        [
            [_archived(run) for run in ranges.clipped(first_offset, last_offset)]
            for first_offset, last_offset in inside
            if first_offset <= last_offset
        ]
    )


def without_aborted(
    acquired: Sequence[AcquiredRange], aborted: Sequence[tuple[int, int]]
) -> list[AcquiredRange]:
    """Return what is left of `acquired` without the `aborted` offsets; both are ascending and disjoint.

    A range with aborted offsets inside becomes several.
    """
    left: list[AcquiredRange] = []
    position = 0
    for run in acquired:
        first_offset = run.first_offset
        while position < len(aborted) and aborted[position][1] < first_offset:
            position += 1
        for aborted_first, aborted_last in aborted[position:]:
            if aborted_first > run.last_offset:
                break
            if first_offset < aborted_first:
                left.append(AcquiredRange(first_offset, aborted_first - 1, run.delivery_count))
            first_offset = aborted_last + 1
        if first_offset <= run.last_offset:
            left.append(AcquiredRange(first_offset, run.last_offset, run.delivery_count))
    return left


def _archived(run: InFlightRange) -> InFlightRange:
    if run.state is not _ACQUIRED:
        return run
    return InFlightRange(run.first_offset, run.last_offset, _ARCHIVED, run.delivery_count, None)
