from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given

from kproxy.clients.history.silver_rows import CORRUPT, UNDECODABLE
from kproxy.jobs.history.silver import (
    MISSING,
    SILVER_ARROW_SCHEMA,
    batch_of_silver,
    missing_row,
    silver_batches,
)
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.share.identifiers import LeaderEpoch, SharePartitionKey, SnapshotEpoch, StateEpoch
from kproxy.share.record_state import AcknowledgeType, RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.statelog.actors import Actor, Cause
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, ShareUpdate, encode_state_record
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, History, histories

KEY = KEYS[0]
RELEASE, REJECT = AcknowledgeType.RELEASE, AcknowledgeType.REJECT


def rows_of(records: Sequence[Record], **options: Any) -> list[dict[str, Any]]:
    batches = silver_batches(iter([batch_of(2, records)]), images=options.get("images", {}))
    return [row for batch in batches for row in batch.to_pylist()]


def an_update(history: History, batches: Sequence[StateBatch], actors: Sequence[Actor]) -> Record:
    update = ShareUpdate(KEY, SnapshotEpoch(1), LeaderEpoch(0), 100, 0, tuple(batches))
    record = encode_state_record(update, claim_epoch=None, actors=actors)
    return replace(record, offset=history.next_offset, timestamp_ms=7)


def a_snapshot_of(key: SharePartitionKey) -> ShareSnapshot:
    return ShareSnapshot(
        *(key, SnapshotEpoch(1), StateEpoch(1), LeaderEpoch(0), 100, 0, 0, 0),
        (StateBatch(100, 109, RecordState.AVAILABLE, 1),),
    )


def a_history() -> History:
    history = History()
    history.snapshot(KEY)
    return history


def test_a_batch_of_two_members_has_a_row_for_each_part() -> None:
    # Given
    history = a_history()
    alice = Actor(Cause.ACKNOWLEDGE, "alice", "client-1", "/10.0.0.7", ((100, 101), (104, 109)))
    bob = Actor(Cause.ACKNOWLEDGE, "bob", "client-2", "/10.0.0.8", ((102, 102),))
    update = an_update(history, [StateBatch(100, 105, RecordState.ACKNOWLEDGED, 1)], [alice, bob])

    # When
    rows = rows_of([*history.records, update])[1:]

    # Then
    assert [(row["first_offset"], row["last_offset"], row["member"]) for row in rows] == [
        (100, 101, "alice"),
        (102, 102, "bob"),
        (103, 103, None),
        (104, 105, "alice"),
        (106, 109, "alice"),
    ]
    assert [(row["state"], row["delivery_count"]) for row in rows] == [(2, 1)] * 4 + [(None, None)]
    assert {(row["log_offset"], row["kind"]) for row in rows} == {(1, "update")}
    assert (rows[0]["client_id"], rows[0]["client_host"], rows[0]["cause"]) == (
        "client-1",
        "/10.0.0.7",
        "acknowledge",
    )


def test_each_row_has_the_type_of_its_acknowledgement_and_what_ended_its_records() -> None:
    # Given
    history = a_history()
    alice = Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((100, 101),), acknowledge_type=REJECT)
    bob = Actor(Cause.ACKNOWLEDGE, "bob", offset_ranges=((102, 102),), acknowledge_type=RELEASE)
    given_up = replace(bob, offset_ranges=((103, 103),), is_at_delivery_limit=True)
    timed_out = Actor(
        Cause.LOCK_TIMEOUT, "carol", offset_ranges=((104, 104), (106, 106)), is_at_delivery_limit=True
    )
    batches = [
        StateBatch(100, 101, RecordState.ARCHIVED, 1),
        StateBatch(102, 102, RecordState.AVAILABLE, 1),
        StateBatch(103, 106, RecordState.ARCHIVED, 5),
    ]

    # When
    rows = rows_of([*history.records, an_update(history, batches, [alice, bob, given_up, timed_out])])[1:]

    # Then
    assert [
        (row["first_offset"], row["cause"], row["acknowledge_type"], row["ended_by"]) for row in rows
    ] == [
        (100, "acknowledge", "reject", "reject"),
        (102, "acknowledge", "release", None),
        (103, "acknowledge", "release", "delivery-limit"),
        (104, "lock-timeout", None, "delivery-limit"),
        (105, None, None, None),
        (106, "lock-timeout", None, "delivery-limit"),
    ]


def test_what_was_done_anew_within_a_record_has_rows_of_its_own_without_a_state() -> None:
    # Given
    history = a_history()
    alice = Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((100, 104),), acknowledge_type=RELEASE)
    bob = Actor(Cause.ACKNOWLEDGE, "bob", offset_ranges=((102, 103),), acknowledge_type=REJECT)
    batches = [
        StateBatch(100, 101, RecordState.AVAILABLE, 1),
        StateBatch(102, 103, RecordState.ARCHIVED, 2),
        StateBatch(104, 104, RecordState.AVAILABLE, 1),
    ]

    # When
    rows = rows_of([*history.records, an_update(history, batches, [alice, bob])])[1:]

    # Then
    assert [
        (row["first_offset"], row["last_offset"], row["member"], row["state"], row["ended_by"])
        for row in rows
    ] == [
        (100, 101, "alice", 0, None),
        (102, 103, "bob", 4, "reject"),
        (104, 104, "alice", 0, None),
        (102, 103, "alice", None, None),
    ]


def test_what_a_topic_lost_is_told_and_what_a_snapshot_repeats_was_not_ended_by_that() -> None:
    # Given
    lost = Actor(Cause.LOG_START_MOVED, offset_ranges=((90, 94), (97, 99)))
    history = a_history()
    snapshot = replace(a_snapshot_of(KEY), snapshot_epoch=SnapshotEpoch(2))
    record = encode_state_record(snapshot, claim_epoch=None, actors=[lost])

    # When
    rows = rows_of([*history.records, replace(record, offset=1, timestamp_ms=7)])[1:]

    # Then
    assert [(row["first_offset"], row["last_offset"], row["state"], row["ended_by"]) for row in rows] == [
        (100, 109, 0, None),
        (90, 94, None, "log-start"),
        (97, 99, None, "log-start"),
    ]


def test_the_first_form_of_the_header_says_no_more_than_it_did() -> None:
    # Given
    history = a_history()
    alice = Actor(Cause.ACKNOWLEDGE, "alice", offset_ranges=((100, 104),), version=0)
    bob = Actor(Cause.DELIVERY_LIMIT, "bob", offset_ranges=((105, 109),), version=0)
    update = an_update(history, [StateBatch(100, 109, RecordState.ARCHIVED, 5)], [alice, bob])

    # When
    rows = rows_of([*history.records, update])[1:]

    # Then
    assert [(row["cause"], row["acknowledge_type"], row["ended_by"]) for row in rows] == [
        ("acknowledge", None, None),
        ("delivery-limit", None, "delivery-limit"),
    ]


def test_an_update_has_the_state_epoch_of_its_share_partition() -> None:
    # Given
    history = a_history()
    history.snapshot(KEY, is_new=True)
    history.update(KEY, (), 1)

    # When
    rows = rows_of(history.records)

    # Then
    assert [(row["kind"], row["state_epoch"]) for row in rows] == [
        ("snapshot", 1),
        ("snapshot", 2),
        ("update", 2),
    ]


def test_a_record_that_nobody_can_decode_has_a_row_with_the_reason() -> None:
    # Given
    history = a_history()

    # When
    rows = rows_of([*history.records, Record(b"\x00\x09", b"?", (), 7, 1)])

    # Then
    assert (rows[1]["kind"], rows[1]["outcome"], rows[1]["error"]) == (
        UNDECODABLE,
        CORRUPT,
        "unknown record type 9",
    )


def test_a_record_that_cannot_follow_is_corrupt_and_keeps_its_values() -> None:
    # Given
    history = a_history()
    again = replace(history.records[0], offset=1)

    # When
    rows = rows_of([*history.records, again])

    # Then
    assert (rows[1]["kind"], rows[1]["outcome"], rows[1]["group"]) == ("snapshot", CORRUPT, "workers")
    assert rows[1]["error"].startswith("regressing snapshot epoch 1")


def test_a_write_of_a_superseded_owner_is_there_and_is_told_apart() -> None:
    # Given
    history = History()
    history.claim()
    history.snapshot(KEY)
    history.claim()
    history.late_update(KEY, (), 0)

    # When
    rows = rows_of(history.records)

    # Then
    assert [row["outcome"] for row in rows] == ["claimed", "applied", "claimed", "ignored-stale-claim"]
    assert rows[0]["client_id"] == "kproxy"


def test_a_fold_that_is_carried_on_knows_what_came_before() -> None:
    # Given
    history = a_history()
    history.update(KEY, (), 1)
    fold = StateLogFold()
    fold.apply(history.records[0])

    # When
    rows = rows_of(history.records[1:], images={2: fold.image()})

    # Then
    assert [(row["outcome"], row["state_epoch"]) for row in rows] == [("applied", 1)]


@given(history=histories())
def test_every_record_has_a_row_and_they_stand_in_order(history: History) -> None:
    # When
    rows = rows_of(history.records)

    # Then
    offsets = [row["log_offset"] for row in rows]
    assert offsets == sorted(offsets)
    assert set(offsets) == set(range(history.next_offset))
    assert CORRUPT not in {row["outcome"] for row in rows}


def test_missing_records_have_one_row_with_their_offsets_in_the_log() -> None:
    # When
    (row,) = batch_of_silver([missing_row(2, 10, 20, 7)]).to_pylist()

    # Then
    assert (row["kind"], row["first_offset"], row["last_offset"], row["log_partition"]) == (
        MISSING,
        10,
        19,
        2,
    )
    assert set(row) == set(SILVER_ARROW_SCHEMA.names)
