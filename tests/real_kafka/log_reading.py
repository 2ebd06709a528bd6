"""The state log as it stands in a cluster: read raw, and folded offline by the code that recovery runs."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.share.record_state import RecordState
from kproxy.statelog.actors import RecordEnd
from kproxy.statelog.claims import Claim
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.group_log_fold import GroupLogFold
from kproxy.statelog.state_log_fold import Outcome, StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, decode_state_record
from kproxy.wire.record_batches import batch_extents
from kproxy.wire.records import Record, decode_records
from tests.real_kafka.backing_topics import looking_at
from tests.real_kafka.cluster import KafkaCluster
from tests.worlds.backing import Backing

PRODUCER_AT: Final = 43
"""Where a batch has its producer id; its epoch and its base sequence follow."""
DONE_WITH: Final = frozenset((RecordState.ACKNOWLEDGED, RecordState.ARCHIVED))
BYTES_PER_READ: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """Who wrote a batch. A batch is written once, whatever its writer heard of it."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


@dataclass(slots=True)
class PartitionLog:
    """One partition of the state log, from its start to its end."""

    batches: list[WrittenBatch] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)


@dataclass(slots=True)
class Replayed:
    """What a log says once every record was folded."""

    states: dict[SharePartitionKey, DurableShareState] = field(default_factory=dict)
    accepted: dict[SharePartitionKey, set[int]] = field(default_factory=dict)
    """Offsets that were acknowledged in some record that counted."""
    contradictions: list[str] = field(default_factory=list)
    """Acknowledged offsets that a later record says something else of, or that somebody accepts there once more."""
    passed: dict[SharePartitionKey, list[tuple[int, int]]] = field(default_factory=dict)
    """Start offsets in rising order, each with when the log first led to it, in epoch milliseconds.

    A share-partition passes a prefix that is done with at once, and the log has that start offset in the next record.
    """
    outcomes: dict[Outcome, int] = field(default_factory=dict)

    def passed_at_ms(self, key: SharePartitionKey, offset: int) -> int | None:
        """Return when the start offset first lay above `offset`, in epoch milliseconds; None if it never did."""
        passed = self.passed.get(key, [])
        place = bisect_right(passed, offset, key=itemgetter(0))
        return passed[place][1] if place < len(passed) else None


async def read_topic(cluster: KafkaCluster, topic: str) -> dict[int, PartitionLog]:
    """Return every partition of a topic, up to its high watermark now."""
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        found = (await backing.metadata.topics_named([topic]))[topic]
        return {
            partition: await _read_partition(backing, found.topic_id, partition)
            for partition in range(found.partition_count)
        }


async def names_of_topics(cluster: KafkaCluster, names: Sequence[str]) -> dict[bytes, str]:
    """Return topic names by topic id."""
    async with looking_at(cluster) as backing:
        await backing.metadata.refresh()
        found = await backing.metadata.topics_named(names)
        return {bytes(description.topic_id): name for name, description in found.items()}


def replay(logs: Mapping[int, PartitionLog]) -> Replayed:
    """Fold every partition of a state topic."""
    replayed = Replayed()
    for log in logs.values():
        fold = StateLogFold()
        for record in log.records:
            outcome = fold.apply(record)
            replayed.outcomes[outcome] = replayed.outcomes.get(outcome, 0) + 1
            if outcome is Outcome.APPLIED:
                _note(record, fold, replayed)
        replayed.states.update(fold.states)
    return replayed


def claimed_at_ms(log: PartitionLog) -> list[int]:
    """When a slot was claimed, in epoch milliseconds."""
    return [
        record.timestamp_ms for record in log.records if isinstance(decode_state_record(record).record, Claim)
    ]


def replay_groups(logs: Mapping[int, PartitionLog]) -> list[GroupLogFold]:
    """Fold every partition of a groups topic."""
    folds = []
    for log in logs.values():
        fold = GroupLogFold()
        for record in log.records:
            fold.replay(record)
        folds.append(fold)
    return folds


def _note(record: Record, fold: StateLogFold, replayed: Replayed) -> None:
    decoded = decode_state_record(record)
    state = decoded.record
    if not isinstance(state, ShareSnapshot | ShareUpdate):
        return
    passed, start_offset = replayed.passed.setdefault(state.key, []), _start_offset(fold.states[state.key])
    if not passed or start_offset > passed[-1][0]:
        passed.append((start_offset, record.timestamp_ms))
    accepted = replayed.accepted.setdefault(state.key, set())
    named = {
        offset
        for actor in decoded.actors
        if actor.end is RecordEnd.ACCEPT
        for first, last in actor.offset_ranges
        for offset in range(first, last + 1)
    }
    if again := accepted & named:
        replayed.contradictions.append(f"{state.key} {sorted(again)} again at offset {record.offset}")
    _note_batches(record, state, replayed)
    accepted |= named  # a record of several writes has no batch below the start offset that they lead to


def _note_batches(record: Record, state: ShareSnapshot | ShareUpdate, replayed: Replayed) -> None:
    accepted = replayed.accepted[state.key]
    for batch in state.state_batches:
        offsets = range(batch.first_offset, batch.last_offset + 1)
        if batch.state is RecordState.ACKNOWLEDGED:
            accepted.update(offsets)
        elif back := accepted.intersection(offsets):
            replayed.contradictions.append(f"{state.key} {sorted(back)} {batch} at offset {record.offset}")


def _start_offset(state: DurableShareState) -> int:
    start_offset = state.start_offset
    for batch in state.state_batches:
        if batch.first_offset > start_offset or batch.state not in DONE_WITH:
            break
        start_offset = batch.last_offset + 1
    return start_offset


async def _read_partition(backing: Backing, topic_id: TopicId, partition: int) -> PartitionLog:
    log, offset = PartitionLog(), 0
    while True:
        data = await backing.read_one(topic_id, partition, offset, max_bytes=BYTES_PER_READ)
        assert not data.error_code, data.error_code
        if not data.records:
            return log
        decoded = decode_records(data.records, from_offset=offset)
        log.records += decoded.records
        log.batches += _batches(data.records)
        offset = decoded.next_offset


def _batches(records: memoryview) -> list[WrittenBatch]:
    places = [extent.position + PRODUCER_AT for extent in batch_extents(records)]
    return [
        WrittenBatch(
            int.from_bytes(records[at : at + 8]),
            int.from_bytes(records[at + 8 : at + 10]),
            int.from_bytes(records[at + 10 : at + 14]),
        )
        for at in places
    ]
