"""How a change of a share-partition is undone: its write was refused, and that is certain."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.share.offset_ranges import AcquisitionLock, InFlightRange, OffsetRanges
from kproxy.share.record_state import RecordState
from kproxy.share.redelivery import DeliveryBatches

_ARCHIVED: Final = RecordState.ARCHIVED


@dataclass(slots=True)
class Reversal:
    """What a change has to be undone with.

    `runs` are the offsets that it changed, as they were before it, none if it stays changed. The start offset, that
    from before is `start_offset`, passed `passed_runs` by it, as they are after it, and delivery batches that began at
    `passed_batches`, which have the one behind them, too.
    """

    start_offset: int
    runs: Sequence[InFlightRange]
    passed_runs: Sequence[InFlightRange]
    passed_batches: Sequence[int]

    @property
    def run_count(self) -> int:
        """What to undo it costs."""
        return len(self.runs) + len(self.passed_runs)


def undo(reversal: Reversal, ranges: OffsetRanges, batches: DeliveryBatches) -> list[AcquisitionLock]:
    """Put back what `reversal` says, and return the locks under which records are held again, each once.

    What was acquired or renewed meanwhile stays as it is, also if that lock has ended. What else was passed below the
    start offset is done with, as it was. Source: `SharePartition.rollbackOrProcessStateUpdates`.
    """
    if not reversal.runs:
        return []
    if reversal.start_offset < ranges.start_offset:
        ranges.prepend(_passed_below(ranges.start_offset, reversal))
    batches.begin_again(reversal.passed_batches)
    runs = ranges.clipped(reversal.runs[0].first_offset, reversal.runs[-1].last_offset)
    ranges.replace(list(_put_back(runs, reversal.runs)))
    return list(dict.fromkeys(before.lock for before in reversal.runs if before.lock is not None))


def _passed_below(start_offset: int, reversal: Reversal) -> Iterator[InFlightRange]:
    """Yield what lies between: records that were passed later, by what is not undone, are archived."""
    yield from reversal.passed_runs
    first_left = reversal.passed_runs[-1].last_offset + 1 if reversal.passed_runs else reversal.start_offset
    if first_left < start_offset:
        yield InFlightRange(first_left, start_offset - 1, _ARCHIVED, 1, None)


def _put_back(runs: Iterable[InFlightRange], before: Sequence[InFlightRange]) -> Iterator[InFlightRange]:
    """Yield `runs` with `before`, which are inside them and ascending, in place of the same offsets."""
    index = 0
    for run in runs:
        first_left = run.first_offset
        while index < len(before) and before[index].first_offset <= run.last_offset:
            was = before[index]
            if first_left < was.first_offset:
                yield run.part(first_left, was.first_offset - 1)
                first_left = was.first_offset
            last_offset = min(was.last_offset, run.last_offset)
            is_later = run.lock is not None or run.delivery_count > was.delivery_count
            yield (run if is_later else was).part(first_left, last_offset)
            first_left = last_offset + 1
            if was.last_offset > last_offset:
                break
            index += 1
        if first_left <= run.last_offset:
            yield run.part(first_left, run.last_offset)
