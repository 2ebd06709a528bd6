"""Folding a log with each record at hand: what it says, what stood before it, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import DecodedStateRecord, StateRecord, decode_state_record
from kproxy.wire.records import Record


@dataclass(frozen=True, slots=True)
class FoldedRecord:
    """A record that a fold has taken, or would not take.

    `decoded` is None for a record that is none; `before` is the state of its share-partition before it, None when there
    was none. `outcome` is None when the fold would not have it, and `error` says why.
    """

    decoded: DecodedStateRecord | None
    actors: Sequence[Actor]
    before: DurableShareState | None
    outcome: Outcome | None
    error: str

    @property
    def record(self) -> StateRecord | None:
        """What the record says."""
        return None if self.decoded is None else self.decoded.record

    @property
    def claim_epoch(self) -> int | None:
        """The claim that it was written under, as far as it says."""
        return None if self.decoded is None else self.decoded.claim_epoch

    @property
    def key(self) -> SharePartitionKey | None:
        """The share-partition that it speaks of; None for a claim, and when nobody can tell."""
        return getattr(self.record, "key", None)


def folded(record: Record, fold: StateLogFold) -> FoldedRecord:
    """Have `fold`, which skips corrupt records, take `record`; return what is to be said of it."""
    try:
        decoded = decode_state_record(record)
        actors = decoded.actors
    except CorruptStateRecord as corrupt:
        _pass_over(record, fold)
        return FoldedRecord(None, (), None, None, corrupt.reason)
    key = getattr(decoded.record, "key", None)
    before = None if key is None else fold.states.get(key)
    try:
        outcome = fold.replay(
            decoded.record,
            claim_epoch=decoded.claim_epoch,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
        )
    except CorruptStateRecord as corrupt:
        return FoldedRecord(decoded, actors, before, None, corrupt.reason)
    return FoldedRecord(decoded, actors, before, outcome, "")


def _pass_over(record: Record, fold: StateLogFold) -> None:
    """Have the fold look at a record that is none; at one of a newer format it stops, and here it goes on."""
    try:
        fold.apply(record)
    except CorruptStateRecord:
        return
