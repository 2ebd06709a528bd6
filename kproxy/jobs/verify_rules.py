"""What must hold of every record of the log, whatever state it leads to."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.fold import Outcome, StateLogFold
from kproxy.statelog.state_records import (
    DecodedStateRecord,
    ShareSnapshot,
    ShareUpdate,
    decode_state_record,
)
from kproxy.wire.records import Record

VIOLATION = "violation"
"""Something that must not be."""
NOTICE = "notice"
"""A write that every fold passes over, as it must: an owner that was superseded wrote once more."""

_TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a record, and of which share-partition it speaks; None when nobody can tell."""

    what: str
    offset: int
    key: SharePartitionKey | None
    detail: str


class Examiner:
    """Folds one log partition, and examines each record before it does. A corrupt record is passed over."""

    def __init__(self, fold: StateLogFold, delivery_limit: int) -> None:
        self.fold = fold
        """Skips corrupt records."""
        self.record_count = 0
        self._delivery_limit = delivery_limit

    def examine(self, record: Record) -> Iterator[Problem]:
        """Yield what is wrong with the next record, and fold it."""
        self.record_count += 1
        try:
            decoded = decode_state_record(record)
            _ = decoded.actors
        except CorruptStateRecord as corrupt:
            self._pass_over(record)
            yield Problem(VIOLATION, record.offset, None, corrupt.reason)
            return
        key = getattr(decoded.record, "key", None)
        before = None if key is None else self.fold.states.get(key)
        try:
            outcome = self._replay(decoded, record)
        except CorruptStateRecord as corrupt:
            yield Problem(VIOLATION, record.offset, key, corrupt.reason)
            return
        for what, detail in self._complaints(decoded, outcome, before):
            yield Problem(what, record.offset, key, detail)

    def orphans(self) -> Iterator[Problem]:
        """Yield, at the end, the share-partitions that have updates but no snapshot."""
        for key, offset in self.fold.image().orphans.items():
            yield Problem(VIOLATION, offset, key, "updates without a snapshot before or after them")

    def _pass_over(self, record: Record) -> None:
        try:
            self.fold.apply(record)
        except CorruptStateRecord:
            return

    def _replay(self, decoded: DecodedStateRecord, record: Record) -> Outcome:
        return self.fold.replay(
            decoded.record,
            claim_epoch=decoded.claim_epoch,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
        )

    def _complaints(
        self, decoded: DecodedStateRecord, outcome: Outcome, before: DurableShareState | None
    ) -> Iterator[tuple[str, str]]:
        record = decoded.record
        if outcome is Outcome.IGNORED_UNCLAIMED:
            yield VIOLATION, "written by nobody who claimed the log partition"
        elif outcome is Outcome.IGNORED_STALE_CLAIM:
            yield (
                NOTICE,
                f"written under claim {decoded.claim_epoch}, when {self.fold.claim_epoch} was in force",
            )
        elif outcome is Outcome.APPLIED and isinstance(record, ShareSnapshot | ShareUpdate):
            for detail in self._complaints_about_values(record, before):
                yield VIOLATION, detail

    def _complaints_about_values(
        self, record: ShareSnapshot | ShareUpdate, before: DurableShareState | None
    ) -> Iterator[str]:
        batches = sorted(record.state_batches, key=lambda batch: batch.first_offset)
        for earlier, later in pairwise(batches):
            if later.first_offset <= earlier.last_offset:
                yield f"overlapping state batches {_text(earlier)} and {_text(later)}"
        for batch in batches:
            if batch.delivery_count > self._delivery_limit:
                yield f"{_text(batch)} delivered {batch.delivery_count} times, more than {self._delivery_limit}"
        if before is not None and _is_same_epoch(record, before):
            yield from _regressions(record, before, batches)


def _is_same_epoch(record: ShareSnapshot | ShareUpdate, before: DurableShareState) -> bool:
    return isinstance(record, ShareUpdate) or record.state_epoch == before.state_epoch


def _regressions(
    record: ShareSnapshot | ShareUpdate, before: DurableShareState, batches: list[StateBatch]
) -> Iterator[str]:
    if -1 < record.start_offset < before.start_offset:
        yield f"start offset {record.start_offset} after {before.start_offset} in the same state epoch"
    for batch in batches:
        for known in before.state_batches:
            is_covered = known.first_offset <= batch.last_offset and batch.first_offset <= known.last_offset
            if is_covered and known.state in _TERMINAL and batch.state is not known.state:
                yield f"{_text(batch)} is {batch.state.name}, and {_text(known)} was {known.state.name} for good"


def _text(batch: StateBatch) -> str:
    return f"{batch.first_offset}-{batch.last_offset}"
