"""Folding a log record by record: each decoded, with the state before it and the outcome of the fold."""

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
    """A record and what a fold made of it.

    `decoded` is None for a record that cannot be decoded; `before` is the state of its share-partition before it, None
    when there was none. `outcome` is None for a corrupt record, and `error` says why it is one.
    """

    decoded: DecodedStateRecord | None
    actors: Sequence[Actor]
    before: DurableShareState | None
    outcome: Outcome | None
    error: str

    @property
    def record(self) -> StateRecord | None:
        """The decoded record."""
        return None if self.decoded is None else self.decoded.record

    @property
    def claim_epoch(self) -> int | None:
        """The claim epoch in its header; None without one."""
        return None if self.decoded is None else self.decoded.claim_epoch

    @property
    def key(self) -> SharePartitionKey | None:
        """Its share-partition; None for a claim, and for a record that cannot be decoded."""
        return getattr(self.record, "key", None)


def folded(record: Record, fold: StateLogFold) -> FoldedRecord:
    """Apply `record` to `fold`, which skips corrupt records; return the outcome with what it was decided on."""
    try:
        decoded = decode_state_record(record)
        actors = decoded.actors
    except CorruptStateRecord as corrupt:
        _skip(record, fold)
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


def _skip(record: Record, fold: StateLogFold) -> None:
    """Let the fold note the offset of a record that cannot be decoded. One of a newer format is skipped as well."""
    try:
        fold.apply(record)
    except CorruptStateRecord:
        return
