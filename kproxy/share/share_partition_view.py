"""What is shown of a share-partition: frozen pictures, for the admin port and for whoever writes down who did what."""

from dataclasses import dataclass
from typing import Final

from kproxy.share.identifiers import MemberId, SharePartitionKey
from kproxy.share.limits import ShareLimits
from kproxy.share.offset_ranges import InFlightRange, OffsetRanges
from kproxy.share.record_state import RecordState

_USUAL: Final = ShareLimits()


@dataclass(slots=True)
class InFlightRangeView:
    """A run of offsets, both ends inclusive. Of one that is not ACQUIRED member and lock are None.

    It is never changed once made: there may be thousands.

    The lock began `lock_duration_ms` before its deadline, when the run was acquired or renewed.
    """

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int
    member_id: MemberId | None
    lock_deadline_ms: int | None
    lock_duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SharePartitionView:
    """A frozen picture of a share-partition. `last_offset` is that of `SharePartition`; limits are those of now."""

    key: SharePartitionKey
    start_offset: int
    last_offset: int
    in_flight_count: int
    delivery_complete_count: int
    ranges: tuple[InFlightRangeView, ...]
    limits: ShareLimits = _USUAL


def view_of_window(key: SharePartitionKey, ranges: OffsetRanges, limits: ShareLimits) -> SharePartitionView:
    """Return the picture of a share-partition whose window is `ranges`."""
    start_offset, end_offset = ranges.start_offset, ranges.end_offset
    return SharePartitionView(
        key,
        start_offset,
        last_offset=max(end_offset - 1, start_offset),
        in_flight_count=end_offset - start_offset,
        delivery_complete_count=ranges.terminal_count,
        ranges=tuple(map(view_of, ranges)),
        limits=limits,
    )


def view_of(run: InFlightRange) -> InFlightRangeView:
    """Return the picture of one run."""
    lock = run.lock
    if lock is None:
        return InFlightRangeView(
            run.first_offset, run.last_offset, run.state, run.delivery_count, None, None, None
        )
    return InFlightRangeView(
        run.first_offset,
        run.last_offset,
        run.state,
        run.delivery_count,
        lock.member_id,
        lock.deadline_ms,
        lock.duration_ms,
    )
