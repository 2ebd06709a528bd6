"""Writes that a fold applies or ignores, but that no kproxy makes.

The rules hold whatever writes are lost or refused. A share-partition in memory is the durable state and what happened
since, so it is never behind the log: each delivery count that it writes is higher than the one before, and its
delivery-complete count includes all records that are in a terminal state in the log. It may be ahead: it also counts
offsets of its topic that hold no record, or one of an aborted transaction, and records whose last lock ended in a write
that was refused, which the log does not have. These are notices, all else is a violation.

Operators may write anything (WriteShareGroupState), so their records are not checked.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from operator import attrgetter
from typing import Final

from kproxy.share.record_state import TERMINAL_STATES, UNDELIVERABLE_STATES
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateBatch, lay_over
from kproxy.statelog.actors import Actor, Cause, OffsetRange
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate
from kproxy.wording import counted

_LAST_OFFSET: Final = attrgetter("last_offset")
_REPEATS_COUNT: Final = frozenset({Cause.LOAD, Cause.SNAPSHOT})
"""Causes of records that repeat the durable delivery-complete count."""


def impossible_writes(
    record: ShareSnapshot | ShareUpdate,
    actors: Sequence[Actor],
    before: DurableShareState | None,
    after: DurableShareState,
) -> Iterator[str]:
    """Yield the violations in a record.

    It was applied to `before`, None when there was no state, and led to `after`.
    """
    causes = {actor.cause for actor in actors}
    if Cause.OPERATOR in causes:
        return
    yield from _impossible_batches(record, before)
    if before is not None and _is_continued(record, before):
        yield from _regressions(record, before)
    if record.state_batches and _is_counted(record, causes):
        yield from _uncounted(record, after)


def offsets_passed_over(
    record: ShareSnapshot | ShareUpdate, actors: Sequence[Actor], before: DurableShareState | None
) -> int:
    """Return how many offsets the start offset passes that the log does not have in a terminal state.

    They held no record, or no longer do. It is 0 when the cause of the record is that the start of the topic's log
    moved, or an operator.
    """
    causes = {actor.cause for actor in actors}
    if before is None or not _is_continued(record, before) or before.start_offset < 0:
        return 0
    if not causes.isdisjoint({Cause.OPERATOR, Cause.LOG_START_MOVED}):
        return 0
    known = [_span(batch) for batch in before.state_batches if batch.state in UNDELIVERABLE_STATES]
    # Of several writes in one record, batches that the last start offset passed are in the actors' offset ranges only.
    known += [span for actor in actors for span in actor.offset_ranges]
    passed = max(record.start_offset - before.start_offset, 0)
    return passed - _covered(known, before.start_offset, record.start_offset - 1)


def uncounted_offsets(record: ShareSnapshot | ShareUpdate, after: DurableShareState) -> int:
    """Return by how much the delivery-complete count exceeds the number of offsets in the log, or 0."""
    if record.start_offset == UNKNOWN_START_OFFSET:
        return 0
    end = after.state_batches[-1].last_offset + 1 if after.state_batches else after.start_offset
    return max(record.delivery_complete_count - (end - after.start_offset), 0)


def _is_continued(record: ShareSnapshot | ShareUpdate, before: DurableShareState) -> bool:
    """Return whether a record continues the state before it: an update, or a snapshot of the same state epoch."""
    return isinstance(record, ShareUpdate) or record.state_epoch == before.state_epoch


def _impossible_batches(
    record: ShareSnapshot | ShareUpdate, before: DurableShareState | None
) -> Iterator[str]:
    if isinstance(record, ShareSnapshot):
        return  # It repeats durable batches, which an operator may have written.
    start_offset = record.start_offset if before is None else max(record.start_offset, before.start_offset)
    for batch in record.state_batches:
        if batch.first_offset < start_offset:
            yield f"{_text(batch)} begins below the start offset {start_offset}"
        if batch.delivery_count == 0:
            yield f"{_text(batch)} is {batch.state.name}, and was never delivered"


def _regressions(record: ShareSnapshot | ShareUpdate, before: DurableShareState) -> Iterator[str]:
    """Yield what contradicts the durable state before it."""
    start_offset, complete_count = record.start_offset, record.delivery_complete_count
    if UNKNOWN_START_OFFSET < start_offset < before.start_offset:
        yield f"start offset {start_offset} after {before.start_offset} in the same state epoch"
    elif start_offset == before.start_offset and complete_count < before.delivery_complete_count:
        yield (
            f"delivery-complete count {complete_count} after {before.delivery_complete_count} "
            f"for the same start offset {start_offset}"
        )
    if isinstance(record, ShareUpdate):
        yield from _repeated_deliveries(record.state_batches, before.state_batches)
    elif start_offset >= before.start_offset:
        own = lay_over((), record.state_batches, start_offset)
        if lay_over(own, before.state_batches, start_offset) != own:
            yield f"the snapshot has forgotten state batches from offset {start_offset} on"


def _repeated_deliveries(batches: Iterable[StateBatch], known: Sequence[StateBatch]) -> Iterator[str]:
    for batch in batches:
        for earlier in known[bisect_left(known, batch.first_offset, key=_LAST_OFFSET) :]:
            if batch.last_offset < earlier.first_offset:
                break
            if earlier.state in UNDELIVERABLE_STATES:
                yield f"{_text(batch)} is {batch.state.name}, and {_text(earlier)} was {earlier.state.name} for good"
            elif batch.delivery_count <= earlier.delivery_count:
                yield (
                    f"{_text(batch)} delivered {counted(batch.delivery_count, 'time')}, "
                    f"and {_text(earlier)} was {counted(earlier.delivery_count, 'time')} already"
                )


def _is_counted(record: ShareSnapshot | ShareUpdate, causes: AbstractSet[Cause]) -> bool:
    """Return whether the delivery-complete count was counted for this record, and not repeated."""
    if record.start_offset == UNKNOWN_START_OFFSET:
        return False
    if isinstance(record, ShareUpdate):
        return True
    return bool(causes) and causes.isdisjoint(_REPEATS_COUNT)


def _uncounted(record: ShareSnapshot | ShareUpdate, after: DurableShareState) -> Iterator[str]:
    known = sum(_length(batch) for batch in after.state_batches if batch.state in TERMINAL_STATES)
    if record.start_offset == after.start_offset and record.delivery_complete_count < known:
        yield (
            f"delivery-complete count {record.delivery_complete_count} from offset {record.start_offset} on, "
            f"with {counted(known, 'record')} done with"
        )


def _covered(spans: Iterable[OffsetRange], first: int, last: int) -> int:
    """Return how many offsets from `first` to `last`, both inclusive, lie in any of `spans`."""
    count, next_offset = 0, first
    for span_first, span_last in sorted(spans):
        start, end = max(span_first, next_offset), min(span_last, last)
        if start <= end:
            count += end - start + 1
            next_offset = end + 1
    return count


def overlaps(batches: Iterable[StateBatch]) -> Iterator[str]:
    """Yield the overlaps of the state batches of one record."""
    for earlier, later in pairwise(sorted(batches, key=lambda batch: batch.first_offset)):
        if later.first_offset <= earlier.last_offset:
            yield f"overlapping state batches {_text(earlier)} and {_text(later)}"


def too_often(batches: Iterable[StateBatch], delivery_limit: int) -> Iterator[str]:
    """Yield what was delivered more often than `delivery_limit` allows."""
    for batch in batches:
        if batch.delivery_count > delivery_limit:
            yield f"{_text(batch)} delivered {counted(batch.delivery_count, 'time')}, more than {delivery_limit}"


def _span(batch: StateBatch) -> OffsetRange:
    return batch.first_offset, batch.last_offset


def _length(batch: StateBatch) -> int:
    return batch.last_offset - batch.first_offset + 1


def _text(batch: StateBatch) -> str:
    return f"{batch.first_offset}-{batch.last_offset}"
