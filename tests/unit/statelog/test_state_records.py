"""Records of the state log: Kafka's bytes, and a named error for whatever cannot be."""

import dataclasses
import json
import tracemalloc
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import CorruptStateRecord, UnsupportedStateRecord
from kproxy.share.identifiers import (
    GroupId,
    LeaderEpoch,
    SharePartitionKey,
    SnapshotEpoch,
    StateEpoch,
    TopicId,
)
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.log_messages import decode_value
from kproxy.statelog.state_records import (
    Claim,
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    StateTombstone,
    _plain_update,
    _update,
    decode_state_record,
    encode_state_record,
)
from kproxy.wire.messages.share_update_value import ShareUpdateValue
from kproxy.wire.records import Record

KEY = SharePartitionKey(GroupId("gs1"), TopicId(bytes(15) + b"\x01"), 0)
KEY_HEX = "00036773310000000000000000000000000000000100000000"
ALICE = Actor(Cause.ACKNOWLEDGE, "alice", "app-1", "10.0.0.1", ((100, 109),))
GOLDEN_STEPS = json.loads((Path(__file__).parent / "data" / "kip_worked_example.json").read_text("utf-8"))[
    "steps"
]
GOLDEN_RECORDS = [record for step in GOLDEN_STEPS for record in step["records"]]

durable_states = st.sampled_from([RecordState.AVAILABLE, RecordState.ACKNOWLEDGED, RecordState.ARCHIVED])
epochs = st.integers(0, 2**31 - 1)
timestamps = st.integers(0, 2**63 - 1)
share_partition_keys = st.builds(
    SharePartitionKey,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(GroupId),
    st.binary(min_size=16, max_size=16).map(TopicId),
    st.integers(0, 2**31 - 1),
)


@st.composite
def state_batches(draw: st.DrawFn, start_offset: int = 0) -> tuple[StateBatch, ...]:
    bounds = sorted(draw(st.sets(st.integers(max(start_offset, 0), 2**62), max_size=10)))
    return tuple(
        StateBatch(first, last, draw(durable_states), draw(st.integers(0, 2**15 - 1)))
        for first, last in zip(bounds[::2], bounds[1::2], strict=False)
    )


@st.composite
def snapshots(draw: st.DrawFn) -> ShareSnapshot:
    start_offset = draw(st.integers(-1, 2**61))
    return ShareSnapshot(
        draw(share_partition_keys),
        SnapshotEpoch(draw(epochs)),
        StateEpoch(draw(epochs)),
        LeaderEpoch(draw(epochs)),
        start_offset,
        draw(timestamps),
        draw(timestamps),
        draw(st.integers(-1, 2**31 - 1)),
        draw(state_batches(start_offset)),
    )


updates = st.builds(
    ShareUpdate,
    share_partition_keys,
    epochs.map(SnapshotEpoch),
    epochs.map(LeaderEpoch),
    st.integers(-1, 2**61),
    st.integers(-1, 2**31 - 1),
    state_batches(),
)
claims = st.builds(Claim, st.text(st.characters(exclude_categories=["Cs"]), max_size=8), st.integers(0, 1))
state_records = st.one_of(snapshots(), updates, st.builds(StateTombstone, share_partition_keys), claims)


def a_snapshot(**changes: Any) -> ShareSnapshot:
    snapshot = ShareSnapshot(
        key=KEY,
        snapshot_epoch=SnapshotEpoch(1),
        state_epoch=StateEpoch(2),
        leader_epoch=LeaderEpoch(3),
        start_offset=100,
        create_timestamp_ms=4,
        write_timestamp_ms=5,
        delivery_complete_count=6,
        state_batches=(StateBatch(101, 105, RecordState.ARCHIVED, 7),),
    )
    return dataclasses.replace(snapshot, **changes)


def stored_state(number: int) -> RecordState:
    """A state that only a log can hold: kproxy has no name for it."""
    return cast("RecordState", number)


def encoded(record: StateRecord) -> Record:
    return encode_state_record(record, claim_epoch=None, actors=())


def test_a_snapshot_has_kafkas_bytes() -> None:
    # When
    record = encoded(a_snapshot())

    # Then
    assert record.key is not None
    assert record.value is not None
    assert record.key.hex() == f"0000{KEY_HEX}"
    assert record.value.hex() == (
        "0000"
        "00000001"
        "00000002"
        "00000003"
        "0000000000000064"
        "0000000000000004"
        "0000000000000005"
        "02"
        "0000000000000065"
        "0000000000000069"
        "04"
        "0007"
        "00"
        "01"
        "00"
        "04"
        "00000006"
    )


def test_an_update_has_the_same_key_under_its_own_type() -> None:
    # When
    record = encoded(ShareUpdate(KEY, SnapshotEpoch(1), LeaderEpoch(3), -1, -1, ()))

    # Then
    assert record.key is not None
    assert record.value is not None
    assert record.key.hex() == f"0001{KEY_HEX}"
    assert record.value.hex() == "00000000000100000003ffffffffffffffff0100"


def test_a_tombstone_is_a_snapshots_key_without_a_value() -> None:
    assert encoded(StateTombstone(KEY)) == Record(bytes.fromhex(f"0000{KEY_HEX}"), None)


def test_a_claim_has_a_type_that_kafkas_tools_do_not_know() -> None:
    record = encoded(Claim("pod-1", 1))
    assert record == Record(bytes.fromhex("6b70"), bytes.fromhex("000006706f642d31000100"))


def test_who_and_under_which_claim_stands_in_headers() -> None:
    # Given
    late = Actor(Cause.LOCK_TIMEOUT)

    # When
    record = encode_state_record(a_snapshot(), claim_epoch=77, actors=[ALICE, late])

    # Then
    assert record.headers == (
        ("kproxy.claim", b"\0\0\0\0\0\0\0\x4d"),
        (
            "kproxy.actor",
            b'{"version":1,"cause":"acknowledge","member":"alice","client":"app-1","host":"10.0.0.1","offsets":[[100,109]]}',
        ),
        ("kproxy.actor", b'{"version":1,"cause":"lock-timeout"}'),
    )


@given(state_records, st.none() | st.integers(0, 2**63 - 1))
def test_every_record_is_read_back(record: StateRecord, claim_epoch: int | None) -> None:
    # When
    decoded = decode_state_record(encode_state_record(record, claim_epoch=claim_epoch, actors=[ALICE]))

    # Then
    assert decoded.record == record
    assert decoded.claim_epoch == claim_epoch
    assert decoded.actors == (ALICE,)


@pytest.mark.parametrize("golden", GOLDEN_RECORDS, ids=lambda golden: f"offset-{golden['offset']}")
def test_what_the_stock_share_coordinator_wrote_is_read_and_written_again_byte_for_byte(
    golden: dict[str, Any],
) -> None:
    # Given
    theirs = Record(bytes.fromhex(golden["key"]), bytes.fromhex(golden["value"]))

    # When
    decoded = decode_state_record(theirs)

    # Then
    assert encoded(decoded.record) == theirs
    assert decoded.claim_epoch is None
    assert decoded.actors == ()


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (a_snapshot(snapshot_epoch=-2), "snapshot epoch -2"),
        (a_snapshot(state_epoch=-2), "state epoch -2"),
        (a_snapshot(leader_epoch=-2), "leader epoch -2"),
        (a_snapshot(start_offset=-2), "start offset -2"),
        (a_snapshot(delivery_complete_count=-2), "delivery-complete count -2"),
        (a_snapshot(key=SharePartitionKey(GroupId("g"), TopicId(bytes(16)), -1)), "partition -1"),
        (a_snapshot(start_offset=102), "below the start offset 102"),
        (a_snapshot(state_batches=(StateBatch(105, 101, RecordState.AVAILABLE, 1),)), "state batch 105-101"),
        (a_snapshot(state_batches=(StateBatch(-5, 101, RecordState.AVAILABLE, 1),)), "state batch -5-101"),
        (a_snapshot(state_batches=(StateBatch(101, 105, RecordState.AVAILABLE, -1),)), "-1 times"),
        (a_snapshot(state_batches=(StateBatch(101, 105, RecordState.ACQUIRED, 1),)), "delivery state 1"),
        (a_snapshot(state_batches=(StateBatch(101, 105, stored_state(9), 1),)), "delivery state 9"),
        (
            a_snapshot(
                state_batches=(
                    StateBatch(101, 105, RecordState.AVAILABLE, 1),
                    StateBatch(105, 106, RecordState.AVAILABLE, 1),
                )
            ),
            "not ascending and disjoint",
        ),
        (ShareUpdate(KEY, SnapshotEpoch(-1), LeaderEpoch(0), 0, 0, ()), "snapshot epoch -1"),
    ],
)
def test_state_that_cannot_be_is_corrupt_and_names_its_offset(record: StateRecord, reason: str) -> None:
    with pytest.raises(CorruptStateRecord, match=reason) as refusal:
        decode_state_record(dataclasses.replace(encoded(record), offset=42))
    assert refusal.value.offset == 42
    assert str(refusal.value) == f"offset 42: {refusal.value.reason}"


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"", "no key"),
        (bytes.fromhex(f"0001{KEY_HEX}"), None, "no value for ShareUpdateValue"),
        (bytes.fromhex("6b70"), None, "no value for KproxyClaimValue"),
        (b"\x00\x02", b"", "unknown record type 2"),
    ],
)
def test_a_record_that_is_none_of_ours_is_corrupt(
    key: bytes | None, value: bytes | None, reason: str
) -> None:
    with pytest.raises(CorruptStateRecord, match=reason):
        decode_state_record(Record(key, value))


@pytest.mark.parametrize(
    "record",
    [
        encoded(Claim("pod-2", 3)),
        Record(bytes.fromhex("6b7f"), b""),
        Record(bytes.fromhex(f"0000{KEY_HEX}"), b"\x00\x01"),
    ],
)
def test_what_only_a_newer_program_reads_is_unsupported(record: Record) -> None:
    with pytest.raises(UnsupportedStateRecord):
        decode_state_record(record)


@pytest.mark.parametrize(
    "mark", [a_snapshot(snapshot_epoch=-1), a_snapshot(snapshot_epoch=-1, start_offset=-1)]
)
def test_a_snapshot_with_the_epoch_of_the_early_deletion_marker_ends_the_state(mark: ShareSnapshot) -> None:
    """KIP-932, "Using the share coordinator", before deletions were tombstones."""
    assert decode_state_record(encoded(mark)).record == StateTombstone(KEY)


@pytest.mark.parametrize("batch_count", [1, 200], ids=["plain", "long"])
def test_a_record_on_its_way_to_a_dead_letter_queue_is_read_as_kafka_4_4_wrote_it(batch_count: int) -> None:
    # Given
    batches = tuple(StateBatch(2 * n, 2 * n, stored_state(3), 5) for n in range(batch_count))
    update = ShareUpdate(KEY, SnapshotEpoch(1), LeaderEpoch(3), 0, 0, batches)

    # When
    decoded = decode_state_record(encoded(update)).record

    # Then
    assert isinstance(decoded, ShareUpdate)
    assert [(batch.first_offset, batch.state.name) for batch in decoded.state_batches] == [
        (2 * n, "ARCHIVING") for n in range(batch_count)
    ]


@pytest.mark.parametrize(
    "record", [a_snapshot(), ShareUpdate(KEY, SnapshotEpoch(1), LeaderEpoch(3), -1, -1, ())]
)
def test_no_key_of_a_group_with_a_long_id_is_remembered(record: ShareSnapshot | ShareUpdate) -> None:
    # Given
    decode_state_record(encoded(record))
    tracemalloc.start()

    # When
    for number in range(50):
        key = KEY._replace(group_id=GroupId(f"{number:05}".ljust(30_000, "x")))
        decode_state_record(encoded(dataclasses.replace(record, key=key)))

    # Then
    kept_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept_bytes < 10 * 30_000


def test_an_actor_that_nobody_knows_does_not_hide_the_state() -> None:
    # Given
    record = dataclasses.replace(encoded(a_snapshot()), headers=(("kproxy.actor", b"rubbish"),))

    # When
    decoded = decode_state_record(record)

    # Then
    assert decoded.record == a_snapshot()
    with pytest.raises(CorruptStateRecord, match="rubbish"):
        _ = decoded.actors


@given(state_records, st.data())
def test_flipped_bits_and_cut_bytes_are_corrupt_or_possible_but_never_anything_else(
    record: StateRecord, data: st.DataObject
) -> None:
    # Given
    whole = encode_state_record(record, claim_epoch=5, actors=[ALICE])
    damaged = Record(
        data.draw(damages(whole.key)),
        data.draw(damages(whole.value)),
        tuple((name, data.draw(damages(value))) for name, value in whole.headers),
    )

    # When
    try:
        decoded = decode_state_record(damaged)
    except CorruptStateRecord:
        return

    # Then
    if not isinstance(decoded.record, Claim):
        assert decoded.record.key.partition >= 0
    if isinstance(decoded.record, ShareSnapshot | ShareUpdate):
        assert all(batch.first_offset <= batch.last_offset for batch in decoded.record.state_batches)
        assert decoded.record.start_offset >= -1


@given(updates, st.data())
def test_the_short_way_to_an_update_says_what_the_codec_and_the_checks_say(
    update: ShareUpdate, data: st.DataObject
) -> None:
    # Given
    value = data.draw(damages(encoded(update).value))

    # When
    shortly = _plain_update(KEY, value)

    # Then
    assert shortly is None or shortly == _update(KEY, decode_value(value, ShareUpdateValue))


def test_the_short_way_is_the_one_that_updates_take() -> None:
    # Given
    batches = tuple(StateBatch(first, first + 4, RecordState.ACKNOWLEDGED, 1) for first in range(0, 100, 5))
    update = ShareUpdate(KEY, SnapshotEpoch(1), LeaderEpoch(2), 3, 0, batches)

    # When
    shortly = _plain_update(KEY, encoded(update).value)

    # Then
    assert shortly == update


def damages(content: bytes | None) -> st.SearchStrategy[bytes | None]:
    """`content` as it is, with a bit flipped, cut off, or gone."""
    if not content:
        return st.just(content)
    bits = st.integers(0, 8 * len(content) - 1)
    flipped = bits.map(
        lambda bit: (int.from_bytes(content, "big") ^ (1 << bit)).to_bytes(len(content), "big")
    )
    cut = st.integers(0, len(content) - 1).map(lambda length: content[:length])
    return st.one_of(st.just(content), flipped, cut, st.none())
