"""`SilverWriter`: what the records of a log partition say, as rows: one per state batch and actor. Pure.

A batch that several actors changed is split where their offsets meet. A change that another actor superseded within the
same record has rows without a delivery state. A record without state batches has one row, and so has one that cannot be
decoded. The rows of a record are consecutive. Spark jobs and `kproxy log` make them of the same log alike.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from kproxy.clients.history.folded_records import FoldedRecord, folded
from kproxy.share.identifiers import SharePartitionKey, topic_id_text
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause, OffsetRange, parts_outside, without_overlaps
from kproxy.statelog.claims import Claim
from kproxy.statelog.state_log_fold import FoldImage, StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, StateRecord
from kproxy.wire.records import Record

CORRUPT: Final = "corrupt"
"""The outcome of a corrupt record; `error` says why."""
UNDECODABLE: Final = "undecodable"
"""The kind of a record that cannot be decoded."""

CAUSES_OF_RECORDS: Final = frozenset(
    {
        Cause.INITIALIZE,
        Cause.LOAD,
        Cause.SNAPSHOT,
        Cause.ALTER_OFFSETS,
        Cause.DELETE,
        Cause.LOG_START_MOVED,
    }
)
"""Causes that apply to a whole log record; every other one applies to the offsets of its actor."""

SilverRow = dict[str, Any]
"""Columns by name, as `kproxy.jobs.history.silver` declares them; one that is missing is null."""


@dataclass(slots=True)
class SilverWriter:
    """Makes the rows of one log partition, record after record. Corrupt ones get a row, and the fold skips them."""

    log_partition: int
    fold: StateLogFold = field(default_factory=lambda: StateLogFold(on_corrupt="skip"))

    @staticmethod
    def after(log_partition: int, image: FoldImage | None) -> "SilverWriter":
        """Return the writer that continues after `image`; without one, a new writer."""
        if image is None:
            return SilverWriter(log_partition)
        return SilverWriter(log_partition, StateLogFold.resume(image, on_corrupt="skip"))

    def rows(self, record: Record) -> list[SilverRow]:
        """Return the rows of the next record."""
        place = {
            "log_partition": self.log_partition,
            "log_offset": record.offset,
            "log_ts_ms": record.timestamp_ms,
        }
        found = folded(record, self.fold)
        decoded = found.decoded
        if decoded is None:
            return [{**place, "kind": UNDECODABLE, **_outcome_columns(found)}]
        whole = {**place, "claim_epoch": decoded.claim_epoch, **_outcome_columns(found)}
        whole |= self._record_columns(decoded.record)
        return [whole | part for part in _parts(decoded.record, found.actors)]

    def _record_columns(self, record: StateRecord) -> SilverRow:
        if isinstance(record, Claim):
            return {"kind": "claim", "client_id": record.owner}
        columns = _key_columns(record.key)
        if isinstance(record, ShareSnapshot):
            return columns | _value_columns(record) | {"kind": "snapshot", "state_epoch": record.state_epoch}
        if isinstance(record, ShareUpdate):
            state = self.fold.states.get(record.key)
            state_epoch = None if state is None else state.state_epoch
            return columns | _value_columns(record) | {"kind": "update", "state_epoch": state_epoch}
        return columns | {"kind": "tombstone"}


def _outcome_columns(found: FoldedRecord) -> SilverRow:
    if found.outcome is None:
        return {"outcome": CORRUPT, "error": found.error}
    return {"outcome": found.outcome.value}


def _key_columns(key: SharePartitionKey) -> SilverRow:
    return {"group": key.group_id, "topic_id": topic_id_text(key.topic_id), "partition": key.partition}


def _value_columns(record: ShareSnapshot | ShareUpdate) -> SilverRow:
    return {
        "snapshot_epoch": record.snapshot_epoch,
        "leader_epoch": record.leader_epoch,
        "start_offset": record.start_offset,
        "delivery_complete_count": record.delivery_complete_count,
    }


def _parts(record: StateRecord, actors: Sequence[Actor]) -> list[SilverRow]:
    """Return the columns in which the rows of a record differ: the parts of its state batches, and their actors.

    Changes that a later actor of the record superseded, and changes below the start offset, which are in no batch, have
    neither state nor delivery count. In the latter case the start offset has passed the records.
    """
    batches = record.state_batches if isinstance(record, ShareSnapshot | ShareUpdate) else ()
    # The cause of a whole record: a load, a snapshot, an initialization.
    whole = next((actor for actor in actors if actor.cause in CAUSES_OF_RECORDS), None)
    last_actors = without_overlaps(actors)
    by_offset = sorted(
        ((first, last, actor) for actor in last_actors for first, last in actor.offset_ranges),
        key=itemgetter(0),
    )
    parts = [part for batch in batches for part in _parts_of_batch(batch, by_offset, whole)]
    spans = sorted((batch.first_offset, batch.last_offset) for batch in batches)
    parts += [
        part for first, last, actor in by_offset for part in _parts_outside((first, last), spans, actor)
    ]
    for actor, last_actor in zip(actors, last_actors, strict=True):
        if actor is not last_actor:
            left = last_actor.offset_ranges
            parts += [part for span in actor.offset_ranges for part in _parts_outside(span, left, actor)]
    return parts or [_actor_columns(actors[0] if actors else None)]


def _parts_outside(span: OffsetRange, taken: Sequence[OffsetRange], actor: Actor) -> Iterator[SilverRow]:
    for first, last in parts_outside(span, taken):
        yield _offset_columns(first, last) | _actor_columns(actor)


def _parts_of_batch(
    batch: StateBatch, by_offset: Sequence[tuple[int, int, Actor]], whole: Actor | None
) -> Iterator[SilverRow]:
    next_offset = batch.first_offset
    for first, last, actor in islice(by_offset, bisect_left(by_offset, next_offset, key=itemgetter(1)), None):
        if first > batch.last_offset:
            break
        if first > next_offset:
            yield _batch_columns(batch, next_offset, first - 1) | _repeated(whole)
        begin, end = max(first, next_offset), min(last, batch.last_offset)
        yield _batch_columns(batch, begin, end) | _actor_columns(actor)
        next_offset = end + 1
    if next_offset <= batch.last_offset:
        yield _batch_columns(batch, next_offset, batch.last_offset) | _repeated(whole)


def _batch_columns(batch: StateBatch, first_offset: int, last_offset: int) -> SilverRow:
    state = {"state": int(batch.state), "delivery_count": batch.delivery_count}
    return _offset_columns(first_offset, last_offset) | state


def _offset_columns(first_offset: int, last_offset: int) -> SilverRow:
    return {"first_offset": first_offset, "last_offset": last_offset}


def _repeated(whole: Actor | None) -> SilverRow:
    """Return the columns of a batch that the record only repeats: it ended no delivery."""
    return _actor_columns(whole) | {"ended_by": None}


def _actor_columns(actor: Actor | None) -> SilverRow:
    if actor is None:
        return {}
    texts = {
        "member": actor.member_id,
        "client_id": actor.client_id,
        "client_host": actor.client_host,
        "reason": actor.reason,
    }
    if actor.acknowledge_type is not None:
        texts["acknowledge_type"] = actor.acknowledge_type.name.lower()
    if actor.end is not None:
        texts["ended_by"] = actor.end.value
    return {"cause": actor.cause.value, **{name: text for name, text in texts.items() if text}}
