"""What was in flight when the log lost all of it, and what members say of that afterwards.

Source: `SharePartition.acquire`, `SharePartition.updateCacheAndOffsets`.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.share.acknowledgement import AcknowledgementBatch, equal_types
from kproxy.share.offset_ranges import OffsetRanges
from kproxy.share.record_state import AcknowledgeType, RecordState

_OPEN_STATES: Final = frozenset({RecordState.AVAILABLE, RecordState.ACQUIRED})
_NOT_FOR_GOOD: Final = frozenset({AcknowledgeType.RELEASE.value, AcknowledgeType.RENEW.value})


@dataclass(slots=True)
class CutWindow:
    """What was in flight up to `end_offset` when the log lost it all; `open_spans`, inclusive, were not done with."""

    end_offset: int
    open_spans: list[tuple[int, int]]

    @staticmethod
    def of(ranges: OffsetRanges) -> "CutWindow":
        """Return the window as it is."""
        spans = [(run.first_offset, run.last_offset) for run in ranges if run.state in _OPEN_STATES]
        return CutWindow(ranges.end_offset, spans)

    def is_settled_by(self, batches: Sequence[AcknowledgementBatch]) -> bool:
        """Take out what is acknowledged for good, and tell whether nothing is left. It was lost, but nobody knew.

        Of the types only those of open offsets are looked at: anybody may name whatever lies below the start offset,
        as often as a request has room for. So spans and batches, both ascending, are gone through once, together.
        """
        passed: list[tuple[int, int]] = []
        spans = deque(self.open_spans)
        for batch in batches:
            if not spans:
                break
            first_offset, last_offset, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
            if last_offset < spans[0][0] or (len(types) == 1 and types[0] in _NOT_FOR_GOOD):
                continue
            while spans and spans[0][1] < first_offset:
                passed.append(spans.popleft())
            left: list[tuple[int, int]] = []
            while spans and spans[0][0] <= last_offset:
                left += _left_open(spans.popleft(), batch)
            # The next batch may begin with the last offset of this one.
            spans.extendleft(reversed(left))
        self.open_spans = [*passed, *spans]
        return not self.open_spans


def _left_open(span: tuple[int, int], batch: AcknowledgementBatch) -> Iterator[tuple[int, int]]:
    """Yield what of `span`, which `batch` reaches into, is open after it: outside of it, released or renewed."""
    first_left = span[0]
    offset, last_offset = max(span[0], batch.first_offset), min(span[1], batch.last_offset)
    for acknowledge_type, count in equal_types(offset, last_offset, batch):
        if acknowledge_type not in _NOT_FOR_GOOD:
            if first_left < offset:
                yield first_left, offset - 1
            first_left = offset + count
        offset += count
    if first_left <= span[1]:
        yield first_left, span[1]


def first_new_offset(end_offset: int, batch_first: int, cut: CutWindow | None) -> int:
    """Return the first new offset of a read that begins with the record batch at `batch_first`, mostly `end_offset`.

    It is below the window where the log was cut within that record batch: a stock broker that remembers what was in
    flight before the cut does not look at the start offset. Source: `SharePartition.acquire`, `baseOffset`.
    """
    return end_offset if cut is None else min(max(batch_first, cut.end_offset), end_offset)
