from dataclasses import replace

import pytest
from hypothesis import given

from kproxy.jobs.folds.fold_rows import Counts, batch_of_rows, rows_of_fold
from kproxy.jobs.snapshot import snapshot_batches, snapshot_record
from kproxy.jobs.sources.raw_records import records_of
from kproxy.share.identifiers import LeaderEpoch, SnapshotEpoch, StateEpoch
from kproxy.statelog.durable_state import DurableShareState
from kproxy.statelog.partitioning import group_partition, spread_partition
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.statelog.state_records import ShareSnapshot, decode_state_record
from tests.worlds.histories import KEYS, History, histories

STATE = DurableShareState(StateEpoch(3), LeaderEpoch(7), SnapshotEpoch(5), 100, 2, ())


@given(history=histories())
def test_a_compact_log_folds_to_the_same_states(history: History) -> None:
    # Given
    fold = StateLogFold()
    for record in history.records:
        fold.apply(record)
    rows = [row for row in rows_of_fold(0, fold, Counts()) if row["kind"] == "state"]

    # When
    (batch,) = snapshot_batches(iter([batch_of_rows(rows)]), partition_count=50, for_kafka=False)

    # Then
    compact = StateLogFold()
    for offset, (_, record) in enumerate(records_of(batch)):
        compact.apply(replace(record, offset=offset))
    assert compact.states == fold.states


PLACES = {
    False: [group_partition(key.group_id, 50) for key in KEYS],
    True: [spread_partition(key, 50) for key in KEYS],
}


@pytest.mark.parametrize("for_kafka", PLACES, ids=["of its group", "where Kafka puts it"])
def test_each_record_goes_to_the_partition_in_which_it_is_looked_for(
    for_kafka: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    # Given
    history = History()
    for key in KEYS:
        history.snapshot(key)
    fold = StateLogFold()
    for record in history.records:
        fold.apply(record)
    rows = [row for row in rows_of_fold(0, fold, Counts()) if row["kind"] == "state"]

    # When
    (batch,) = snapshot_batches(iter([batch_of_rows(rows)]), partition_count=50, for_kafka=for_kafka)

    # Then
    assert [number for number, _ in records_of(batch)] == PLACES[for_kafka]


def test_for_kafka_the_epochs_of_leader_and_snapshot_begin_anew_and_there_are_no_headers() -> None:
    # When
    record = snapshot_record(KEYS[0], STATE, 1, 2, for_kafka=True)

    # Then
    decoded = decode_state_record(record)
    assert decoded.record == ShareSnapshot(
        KEYS[0], SnapshotEpoch(0), StateEpoch(3), LeaderEpoch(0), 100, 1, 2, 2, ()
    )
    assert record.headers == ()
