"""What must become durable of a share-partition, and how new state is laid over old."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from kproxy.errors import UnusableShareState
from kproxy.share.acknowledgement import Reversal
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.offset_ranges import InFlightRange
from kproxy.share.record_state import RecordState

UNKNOWN_START_OFFSET: Final = -1
"""The start offset of a share-partition whose `share.auto.offset.reset` was not applied yet."""

UNKNOWN_COMPLETE_COUNT: Final = -1
"""The delivery-complete count of a state that nobody has written yet, whether it has a start offset or not."""

LARGEST_COUNT: Final = 2**31 - 1
"""What a delivery-complete count says at most: an int32 in the log. A hole in a topic can be larger."""

_FIRST_OFFSET: Final = attrgetter("first_offset")
_LAST_OFFSET: Final = attrgetter("last_offset")


@dataclass(slots=True)
class StateBatch:
    """Records `first_offset` to `last_offset`, both inclusive, in one state. Never changed once made."""

    first_offset: int
    last_offset: int
    state: RecordState
    delivery_count: int


@dataclass(frozen=True, slots=True)
class StateDelta:
    """What one call changed that must outlive the process. `batches` are ascending and disjoint.

    Like the stock broker's writes it carries the start offset from *before* the terminal prefix that this
    call made is passed, and the count of records done with (terminal) from that offset on, from *after* the
    change (`LARGEST_COUNT` when it is more): start offset and count belong together. A delta with a start offset
    and no batches is worth writing: everything below is done with. What a share-partition changed comes with its
    `reversal`, should the write be refused.
    """

    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]
    reversal: Reversal | None = field(default=None, compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        """Nothing durable changed: there is nothing to write and nothing to wait for."""
        return not self.batches and self.start_offset == UNKNOWN_START_OFFSET

    @property
    def end_offset(self) -> int:
        """The offset behind the last one that it tells of."""
        return self.batches[-1].last_offset + 1 if self.batches else self.start_offset


NO_CHANGE: Final = StateDelta(UNKNOWN_START_OFFSET, -1, ())
"""The empty delta."""


def lay_over(
    old: Sequence[StateBatch], new: Iterable[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """Return the state batches after `new` was written over `old`: ascending, disjoint, equal ones joined.

    `old` is what this returned before, or empty; `new` may come in any order. Only what `new` touches costs time.

    1. What lies below `start_offset` is dropped. It may be -1 (not chosen yet): then nothing is.
    2. Where batches overlap, the higher delivery count wins, then the higher state: no attempt is undone by a
       write that was overtaken. The order of the batches therefore does not matter.

    Source: `PersisterStateBatchCombiner`, as of Kafka 4.4 (4.3.1 may leave equal neighbours apart).
    """
    merged = list(old[bisect_left(old, start_offset, key=_LAST_OFFSET) :])
    if merged and merged[0].first_offset < start_offset:
        merged[0] = _part_of(merged[0], start_offset, merged[0].last_offset)
    for batch in new:
        if batch.last_offset >= start_offset:
            _lay(merged, _part_of(batch, max(batch.first_offset, start_offset), batch.last_offset))
    return tuple(merged)


def _lay(merged: list[StateBatch], batch: StateBatch) -> None:
    """Lay one batch over `merged`, in place. The neighbours take part so that equal ones join."""
    if not merged or merged[-1].last_offset < batch.first_offset:
        _append(merged, batch, batch.first_offset, batch.last_offset)
        return
    low = bisect_left(merged, batch.first_offset, key=_LAST_OFFSET)
    high = bisect_right(merged, batch.last_offset, lo=low, key=_FIRST_OFFSET)
    pieces = merged[low - 1 : low] if low else []
    next_offset = batch.first_offset
    for covered in merged[low:high]:
        first_offset = max(covered.first_offset, batch.first_offset)
        last_offset = min(covered.last_offset, batch.last_offset)
        winner = max(covered, batch, key=_precedence)
        _append(pieces, covered, covered.first_offset, first_offset - 1)
        _append(pieces, batch, next_offset, first_offset - 1)
        _append(pieces, winner, first_offset, last_offset)
        _append(pieces, covered, last_offset + 1, covered.last_offset)
        next_offset = last_offset + 1
    _append(pieces, batch, next_offset, batch.last_offset)
    for neighbour in merged[high : high + 1]:
        _append(pieces, neighbour, neighbour.first_offset, neighbour.last_offset)
    merged[max(low - 1, 0) : high + 1] = pieces


def _append(pieces: list[StateBatch], batch: StateBatch, first_offset: int, last_offset: int) -> None:
    """Append this part of `batch`, unless it is empty; joined to the last piece if adjacent and equal."""
    if first_offset > last_offset:
        return
    if pieces:
        last = pieces[-1]
        if last.last_offset + 1 == first_offset and _precedence(last) == _precedence(batch):
            pieces[-1] = _part_of(last, last.first_offset, last_offset)
            return
    pieces.append(_part_of(batch, first_offset, last_offset))


def _precedence(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.state


def _part_of(batch: StateBatch, first_offset: int, last_offset: int) -> StateBatch:
    if batch.first_offset == first_offset and batch.last_offset == last_offset:
        return batch
    return StateBatch(first_offset, last_offset, batch.state, batch.delivery_count)


def loaded_runs(
    key: SharePartitionKey, start_offset: int, batches: Iterable[StateBatch]
) -> Iterator[tuple[InFlightRange, bool]]:
    """Yield the runs from `start_offset` on without a gap, each with whether it is one between batches.

    ARCHIVING becomes ARCHIVED, what lies between is AVAILABLE with a count of 0: never delivered. Raises
    UnusableShareState when the batches are not ascending, or one is acquired.
    """
    end_offset = start_offset
    for batch in batches:
        is_ascending = end_offset <= batch.first_offset <= batch.last_offset
        if not is_ascending or batch.state is RecordState.ACQUIRED:
            raise UnusableShareState(f"{batch} cannot follow offset {end_offset - 1} of {key}")
        if end_offset < batch.first_offset:
            yield InFlightRange(end_offset, batch.first_offset - 1, RecordState.AVAILABLE, 0, None), True
        state = RecordState.ARCHIVED if batch.state is RecordState.ARCHIVING else batch.state
        yield InFlightRange(batch.first_offset, batch.last_offset, state, batch.delivery_count, None), False
        end_offset = batch.last_offset + 1
