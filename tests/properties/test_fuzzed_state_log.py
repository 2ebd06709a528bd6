"""A log that no kproxy wrote: damaged, cut, reordered, mixed with foreign records. Recovery never crashes on it.

Whatever the damage, the fold either stops with `CorruptStateRecord` (the bytes of batches with `MalformedMessage`),
or yields states from which a share-partition can be built.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, MalformedMessage
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.limits import ShareLimits
from kproxy.share.record_state import RecordState
from kproxy.share.share_partition import SharePartition
from kproxy.share.state_batches import StateBatch, StateDelta
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.claims import CLAIM_HEADER, STATE_FORMAT_VERSION, Claim
from kproxy.statelog.operations import Delete, Initialize, Load, Operation, Write
from kproxy.statelog.share_coordinator import CoordinatorLimits, ShareCoordinator
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_queue import StateQueue
from kproxy.statelog.state_records import encode_state_record
from kproxy.wire.record_batch_builder import build_batch
from kproxy.wire.records import Record, decode_records

KEYS = [SharePartitionKey(GroupId("orders"), TopicId(b"t" * 16), partition) for partition in range(2)]
STATES = [RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED]

keys = st.sampled_from(KEYS)
deltas = st.builds(
    lambda start, count, first, length, state, delivered: StateDelta(
        start, count, (StateBatch(first, first + length, state, delivered),)
    ),
    start=st.integers(-1, 20),
    count=st.integers(0, 9),
    first=st.integers(0, 25),
    length=st.integers(0, 5),
    state=st.sampled_from(STATES),
    delivered=st.integers(1, 3),
)
operations = st.one_of(
    st.builds(Initialize, keys, st.integers(0, 3).map(StateEpoch), st.integers(-1, 30)),
    st.builds(Load, keys),
    st.builds(Delete, keys),
    st.builds(
        Write,
        keys,
        st.just(StateEpoch(3)),
        st.integers(0, 3).map(LeaderEpoch),
        deltas,
        st.just((Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((3, 9),)),)),
    ),
)


def a_log(history: Sequence[Operation]) -> list[Record]:
    """Let the real queue write a log; whoever is refused writes nothing."""
    claim = encode_state_record(Claim("kproxy", STATE_FORMAT_VERSION), claim_epoch=None, actors=())
    log = [replace(claim, offset=0, timestamp_ms=0)]
    fold = StateLogFold()
    fold.apply(log[0])
    commit = StateQueue(ShareCoordinator(fold, CoordinatorLimits(updates_per_snapshot=2)))
    for operation in history:
        commit.submit(operation)
        append = commit.next_append(0, max_bytes=2**20, claim_epoch=0)
        if append is not None:
            log += numbered(list(append.records), first_offset=len(log))
            commit.succeeded(len(log) - len(append.records))
    return log


def numbered(records: list[Record], *, first_offset: int = 0) -> list[Record]:
    return [
        replace(record, offset=offset, timestamp_ms=0) for offset, record in enumerate(records, first_offset)
    ]


logs = st.lists(operations, min_size=1, max_size=12).map(
    lambda history: a_log([*(Initialize(key, StateEpoch(1), 0) for key in KEYS), *history])
)


def recover(records: list[Record]) -> None:
    """Fold twice: a stop must be a stop that is named; going on must end in states that can be used."""
    stopping, skipping = StateLogFold(), StateLogFold(on_corrupt="skip")
    for fold in (stopping, skipping):
        corrupt = first_corrupt(fold, records)
        assert corrupt is None or corrupt.offset == fold.applied_offset
        require_usable(fold)


def first_corrupt(fold: StateLogFold, records: list[Record]) -> CorruptStateRecord | None:
    """Fold until a record stops it; return how it does."""
    for record in records:
        try:
            fold.apply(record)
        except CorruptStateRecord as corrupt:
            return corrupt
    return None


def require_usable(fold: StateLogFold) -> None:
    assert set(fold.states) == set(fold.places)
    assert fold.recovery_point() <= max(fold.applied_offset, 0)
    for key, state in fold.states.items():
        assert state.start_offset >= -1
        SharePartition(
            key,
            start_offset=max(state.start_offset, 0),
            state_batches=state.state_batches,
            limits=ShareLimits(),
        )


def flipped(payload: bytes, bit: int) -> bytes:
    damaged = bytearray(payload)
    damaged[bit // 8 % len(damaged)] ^= 1 << bit % 8
    return bytes(damaged)


@given(
    log=logs,
    place=st.integers(0, 50),
    bit=st.integers(0, 2000),
    part=st.sampled_from(["key", "value", "headers"]),
)
def test_a_flipped_bit_in_a_record(log: list[Record], place: int, bit: int, part: str) -> None:
    record = log[place % len(log)]
    if part == "headers":
        headers = tuple((name, value and flipped(value, bit)) for name, value in record.headers)
        damaged = replace(record, headers=headers)
    elif part == "key":
        damaged = replace(record, key=record.key and flipped(record.key, bit))
    else:
        damaged = replace(record, value=record.value and flipped(record.value, bit))

    recover([damaged if other is record else other for other in log])


@given(log=logs, place=st.integers(0, 50), length=st.integers(0, 60))
def test_a_record_cut_short(log: list[Record], place: int, length: int) -> None:
    record = log[place % len(log)]
    damaged = replace(record, value=record.value and record.value[:length])

    recover([damaged if other is record else other for other in log])


@given(log=logs, data=st.data())
def test_records_out_of_order(log: list[Record], data: st.DataObject) -> None:
    recover(numbered(data.draw(st.permutations(log))))


@given(log=logs, data=st.data())
def test_records_missing_or_there_twice(log: list[Record], data: st.DataObject) -> None:
    recover(numbered(data.draw(st.lists(st.sampled_from(log), max_size=20))))


@given(
    log=logs,
    key=st.none() | st.binary(max_size=40),
    value=st.none() | st.binary(max_size=60),
    claim=st.none() | st.binary(max_size=9),
    place=st.integers(0, 20),
)
@example(log=a_log([]), key=None, value=None, claim=None, place=0)
def test_foreign_records(
    log: list[Record], key: bytes | None, value: bytes | None, claim: bytes | None, place: int
) -> None:
    headers = () if claim is None else ((CLAIM_HEADER, claim),)

    recover(numbered([*log[:place], Record(key, value, headers), *log[place:]]))


@given(log=logs, bit=st.integers(0, 100_000), length=st.integers(0, 10_000))
def test_damaged_batches(log: list[Record], bit: int, length: int) -> None:
    batch = build_batch(log, producer_id=1, producer_epoch=0, base_sequence=0, timestamp_ms=0)

    for damaged in (flipped(batch, bit), batch[:length]):
        try:
            records = decode_records(memoryview(damaged)).records
        except MalformedMessage:
            continue
        recover(records)


def test_an_undamaged_log_is_recovered_whole() -> None:
    """The other tests would pass if nothing were ever recovered."""
    log = a_log([Initialize(key, StateEpoch(1), 0) for key in KEYS])
    fold = StateLogFold()

    for record in log:
        fold.apply(record)

    assert set(fold.states) == set(KEYS)
    with pytest.raises(CorruptStateRecord):
        fold.apply(replace(log[1], offset=9))
