"""The earlier record forms of KIP-932, translated into the records that Kafka ended up with.

Two drafts came before those. Neither was released; what an early build wrote can be replayed from files.

* `kip-control`: SHARE_CHECKPOINT and SHARE_DELTA, control records in the consumed topic itself. A delta has no start
  offset: that advances over records in a terminal state. Its BackOffset is the offset of the control record before it
  with the same checkpoint epoch, so that a leader can read backwards; here it proves that none is missing.
* `kip-checkpoint`: ShareCheckpoint and ShareDelta in a compacted topic. The key of a delta has a DeltaIndex, so that
  compaction keeps every delta of a checkpoint. It counts from 0 after each, as in the KIP's worked example, and after
  255 from 0 again; here it proves that none is missing.

A line of a file is one record: its fields as the KIP's pages print them, as one JSON object, or apart in Key and Value.
There may also be Offset, Timestamp (epoch milliseconds), and, as control records do not name the topic that they are
in, TopicId and Partition. A State may be followed by its name: "2 (Acknowledged)".
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias
from uuid import UUID

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
    topic_id_of,
)
from kproxy.share.record_state import TERMINAL_STATES, RecordState
from kproxy.share.state_batches import UNKNOWN_START_OFFSET, StateBatch, StateDelta, lay_over
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.state_records import (
    DELETION_MARK,
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    StateTombstone,
    encode_state_record,
)
from kproxy.wire.records import Record
from kproxy.wording import counted

EarlyForm: TypeAlias = Literal["kip-control", "kip-checkpoint"]
EARLY_FORMS: Final[Mapping[str, EarlyForm]] = {
    "kip-control": "kip-control",
    "kip-checkpoint": "kip-checkpoint",
}
"""The forms by what `--format` calls them."""

_NO_TOPIC_ID: Final = TopicId(bytes(16))
_NO_TIME: Final = -1
_DELTA_INDEXES: Final = 256
"""A DeltaIndex is an unsigned byte."""
_NO_LEADER: Final = LeaderEpoch(0)
_NOT_IN_DRAFTS: Final = (RecordState.ACQUIRED, RecordState.ARCHIVING)


@dataclass(frozen=True, slots=True)
class _Last:
    """A share-partition after its last record, and what the next delta is checked against."""

    state: DurableShareState
    offset: int
    delta_index: int | None


def translated(lines: Iterable[str], form: EarlyForm) -> Iterator[Record]:
    """Yield the records that Kafka would have written, in the order of its state log; without actors or claims.

    A delta without its checkpoint is yielded as well: the fold ignores it, and counts it as ignored.

    Raises:
        CorruptStateRecord: a line that is no such record, or that cannot follow those before it.
    """
    translator = _Translator(form)
    for line in lines:
        if line.strip():
            yield translator.translate(line)


class _Translator:
    """Keeps the state of each share-partition: the drafts leave out fields that Kafka's records have."""

    def __init__(self, form: EarlyForm) -> None:
        self._form = form
        self._last: dict[SharePartitionKey, _Last] = {}
        self._last_offset = -1

    def translate(self, line: str) -> Record:
        expected_offset = self._last_offset + 1
        try:
            fields = _fields(json.loads(line))
            offset = int(fields.get("Offset", expected_offset))
            timestamp_ms = int(fields.get("Timestamp", _NO_TIME))
            if offset < expected_offset:
                raise CorruptStateRecord(
                    f"not above the offset before it, {self._last_offset}", offset=offset
                )
            record = self._record(fields, offset)
        except (ValueError, LookupError, TypeError, AttributeError) as failure:
            said = f"no record of the form {self._form} ({type(failure).__name__}: {failure}): {line:.80}"
            raise CorruptStateRecord(said, offset=expected_offset) from failure
        self._last_offset = offset
        found = encode_state_record(record, claim_epoch=None, actors=())
        return Record(found.key, found.value, found.headers, timestamp_ms, offset)

    def _record(self, fields: Mapping[str, Any], offset: int) -> StateRecord:
        key = _key(fields)
        if int(fields.get("CheckpointEpoch", DELETION_MARK)) == DELETION_MARK:
            self._last.pop(key, None)
            return StateTombstone(key)
        return (
            self._delta(key, fields, offset) if _is_delta(fields) else self._checkpoint(key, fields, offset)
        )

    def _checkpoint(self, key: SharePartitionKey, fields: Mapping[str, Any], offset: int) -> ShareSnapshot:
        start_offset = int(fields["StartOffset"])
        batches = lay_over((), _batches(fields), start_offset)
        epochs = (
            StateEpoch(int(fields.get("StateEpoch", 0))),
            _NO_LEADER,
            SnapshotEpoch(int(fields["CheckpointEpoch"])),
        )
        state = _with_complete_count(DurableShareState(*epochs, start_offset, -1, batches))
        self._last[key] = _Last(state, offset, None)
        return _snapshot(key, state, int(fields.get("Timestamp", _NO_TIME)))

    def _delta(self, key: SharePartitionKey, fields: Mapping[str, Any], offset: int) -> ShareUpdate:
        batches = _batches(fields)
        epoch = SnapshotEpoch(int(fields["CheckpointEpoch"]))
        last = self._last.get(key)
        if last is None or epoch != last.state.snapshot_epoch:
            return ShareUpdate(key, epoch, _NO_LEADER, UNKNOWN_START_OFFSET, -1, batches)
        _require_next(fields, last, offset)
        written = StateDelta(int(fields.get("StartOffset", UNKNOWN_START_OFFSET)), -1, batches)
        state = last.state.after(written)
        if self._form == "kip-control":
            state = _over_terminal_records(state)
        state = _with_complete_count(state)
        index = fields.get("DeltaIndex")
        self._last[key] = _Last(state, offset, None if index is None else int(index))
        return ShareUpdate(key, epoch, _NO_LEADER, state.start_offset, state.delivery_complete_count, batches)


def _fields(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a record in one object, also when the line has its key and value apart."""
    return {**line, **(line.get("Key") or {}), **(line.get("Value") or {})}


def _key(fields: Mapping[str, Any]) -> SharePartitionKey:
    topic_id = _topic_id(fields["TopicId"]) if "TopicId" in fields else _NO_TOPIC_ID
    return SharePartitionKey(GroupId(str(fields["GroupId"])), topic_id, int(fields.get("Partition", 0)))


def _topic_id(text: str) -> TopicId:
    try:
        return TopicId(UUID(text).bytes)
    except ValueError:
        return topic_id_of(text)


def _is_delta(fields: Mapping[str, Any]) -> bool:
    return "BackOffset" in fields or "DeltaIndex" in fields


def _batches(fields: Mapping[str, Any]) -> tuple[StateBatch, ...]:
    """Return the states of a record; the pages print them as States, and as StateBatches."""
    listed = fields["States"] if "States" in fields else fields["StateBatches"]
    return tuple(_batch(each) for each in listed)


def _batch(fields: Mapping[str, Any]) -> StateBatch:
    state = RecordState(int(str(fields["State"]).split(maxsplit=1)[0]))
    first_offset, last_offset = int(fields["BaseOffset"]), int(fields["LastOffset"])
    delivery_count = int(fields["DeliveryCount"])
    if state in _NOT_IN_DRAFTS or not 0 <= first_offset <= last_offset or delivery_count < 0:
        raise ValueError(
            f"state {state.value} of {first_offset}-{last_offset}, delivered {counted(delivery_count, 'time')}"
        )
    return StateBatch(first_offset, last_offset, state, delivery_count)


def _require_next(fields: Mapping[str, Any], last: _Last, offset: int) -> None:
    """Raise CorruptStateRecord unless a delta follows the record before it."""
    if "BackOffset" in fields and int(fields["BackOffset"]) != last.offset:
        raise CorruptStateRecord(
            f"its BackOffset is {fields['BackOffset']}, but the record before it is at {last.offset}",
            offset=offset,
        )
    if "DeltaIndex" in fields:
        _require_next_index(int(fields["DeltaIndex"]), last.delta_index, offset)
    state_epoch = int(fields.get("StateEpoch", last.state.state_epoch))
    if state_epoch != last.state.state_epoch:
        raise CorruptStateRecord(
            f"its StateEpoch is {state_epoch}, and its checkpoint's {last.state.state_epoch}", offset=offset
        )


def _require_next_index(index: int, before: int | None, offset: int) -> None:
    """Raise CorruptStateRecord unless a DeltaIndex, which wraps around after 255, follows that of the last delta."""
    expected = 0 if before is None else (before + 1) % _DELTA_INDEXES
    if index != expected:
        said = "no delta stands before it" if before is None else f"the one before is {before}"
        raise CorruptStateRecord(f"its DeltaIndex is {index}, and {said}", offset=offset)


def _over_terminal_records(state: DurableShareState) -> DurableShareState:
    """Return the state with its start offset moved over the terminal records at its beginning."""
    start_offset = state.start_offset
    for batch in state.state_batches:
        if batch.first_offset > start_offset or batch.state not in TERMINAL_STATES:
            break
        start_offset = batch.last_offset + 1
    return state.after(StateDelta(start_offset, -1, ()))


def _with_complete_count(state: DurableShareState) -> DurableShareState:
    """Return the state with its delivery-complete count, which the drafts do not have."""
    done = sum(
        batch.last_offset - batch.first_offset + 1
        for batch in state.state_batches
        if batch.state in TERMINAL_STATES
    )
    return state.after(StateDelta(state.start_offset, done, ())) if state.start_offset >= 0 else state


def _snapshot(key: SharePartitionKey, state: DurableShareState, timestamp_ms: int) -> ShareSnapshot:
    return ShareSnapshot(
        key,
        state.snapshot_epoch,
        state.state_epoch,
        state.leader_epoch,
        state.start_offset,
        timestamp_ms,
        timestamp_ms,
        state.delivery_complete_count,
        state.state_batches,
    )
