import pickle
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.folds.fold_rows import ORPHAN, PARTITION, STATE, image_of_rows, key_of, state_of
from kproxy.jobs.folds.folding import by_log_partition, fold_batches, log_partitions
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, Expected, History, by_offset_of, histories

FOLD = partial(fold_batches, claims={}, on_corrupt="stop")


def batches_of(partition: int, records: Sequence[Record], size: int = 7) -> Iterator[pa.RecordBatch]:
    return (batch_of(partition, records[start : start + size]) for start in range(0, len(records), size))


def rows_of(batches: Iterator[pa.RecordBatch], **options: Any) -> list[dict[str, Any]]:
    return [
        row
        for batch in fold_batches(batches, **{"claims": {}, "on_corrupt": "stop", **options})
        for row in batch.to_pylist()
    ]


def states_in(rows: Sequence[dict[str, Any]]) -> dict[Any, Expected]:
    return {
        key_of(row): Expected(
            row["snapshot_epoch"],
            row["state_epoch"],
            row["start_offset"],
            by_offset_of(state_of(row).state_batches),
        )
        for row in rows
        if row["kind"] == STATE
    }


@given(history=histories())
def test_a_fold_of_rows_arrives_where_an_oracle_does(history: History) -> None:
    # When
    rows = rows_of(batches_of(3, history.records))

    # Then
    assert states_in(rows) == history.states
    assert {row["log_partition"] for row in rows} <= {3}


@given(history=histories(), data=st.data())
def test_a_prefix_and_then_the_rest_lead_to_the_same_rows_as_all_at_once(
    history: History, data: st.DataObject
) -> None:
    # Given
    cut = data.draw(st.integers(1, len(history.records)))
    before = rows_of(batches_of(0, history.records[:cut]))

    # When
    image = image_of_rows(before)

    # Then
    fold = StateLogFold.resume(image)
    for record in history.records[cut:]:
        fold.apply(record)
    whole = image_of_rows(rows_of(batches_of(0, history.records)))
    assert fold.image() == whole


@given(history=histories())
def test_log_partitions_of_one_task_do_not_mix(history: History) -> None:
    # Given
    alone = rows_of(batches_of(1, history.records))
    other = History()
    other.snapshot(KEYS[0])

    # When
    rows = rows_of(iter([*batches_of(0, other.records), *batches_of(1, history.records)]))

    # Then
    assert [row for row in rows if row["log_partition"] == 1] == alone


def test_one_batch_with_several_log_partitions_is_cut() -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    history.snapshot(KEYS[1])
    table = pa.Table.from_batches([batch_of(0, history.records), batch_of(4, history.records)])

    # When
    cut = list(by_log_partition(iter(table.combine_chunks().to_batches())))

    # Then
    assert [(number, batch.num_rows) for number, batch in cut] == [(0, 2), (4, 2)]


def test_a_log_partition_that_comes_in_pieces_is_not_folded_anew() -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    batches = [batch_of(number, history.records) for number in (0, 4, 0)]

    # When
    with pytest.raises(ValueError, match="log partition 0 in pieces") as refusal:
        list(log_partitions(iter(batches)))

    # Then
    assert refusal.type is ValueError


@pytest.mark.parametrize("size", [1, 7])
def test_a_record_that_stands_there_twice_is_named_and_not_folded_twice(size: int) -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    history.snapshot(KEYS[1])
    first, last = history.records

    # When
    with pytest.raises(JobFailed) as refusal:
        [list(found) for _, found in log_partitions(batches_of(4, [first, last, last], size))]

    # Then
    assert f"offset {last.offset} of log partition 4 stands there twice" in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.USAGE


def test_the_rows_of_a_fold_are_there_before_the_next_log_partition_is_read() -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    read = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            read.append(number)
            yield batch_of(number, history.records)

    # When
    first = next(FOLD(batches()))

    # Then
    assert set(first.column("log_partition").to_pylist()) == {0}
    assert read == [0, 1]


def test_updates_without_a_snapshot_are_told_by_their_first_offset() -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    history.update(KEYS[0], (), 1)
    history.update(KEYS[0], (), 2)

    # When
    rows = rows_of(batches_of(0, history.records[1:]))

    # Then
    assert [(row["kind"], row["snapshot_offset"]) for row in rows if row["kind"] == ORPHAN] == [(ORPHAN, 1)]


def test_the_row_of_the_log_partition_counts_what_did_not_count() -> None:
    # Given
    history = History()
    history.claim()
    history.snapshot(KEYS[0])
    history.late_update(KEYS[0], (), None)
    corrupt = Record(b"\x00\x09", b"?", (), 0, history.next_offset)

    # When
    rows = rows_of(batches_of(0, [*history.records, corrupt]), on_corrupt="skip")

    # Then
    (whole,) = (row for row in rows if row["kind"] == PARTITION)
    assert (whole["record_count"], whole["ignored_count"], whole["corrupt_count"]) == (4, 1, 1)
    assert (whole["claim_epoch"], whole["applied_offset"]) == (0, 3)


def test_a_corrupt_record_ends_the_task_with_its_offset_and_what_to_do() -> None:
    # Given
    corrupt = Record(b"\x00\x09", b"?", (), 0, 12)

    # When
    with pytest.raises(Exception, match="offset 12: unknown record type 9; --on-corrupt skip"):
        rows_of(batches_of(0, [corrupt]))


def test_the_claim_in_force_before_the_first_record_is_obeyed() -> None:
    # Given
    history = History()
    history.claim()
    history.claim()
    history.snapshot(KEYS[0])
    history.late_update(KEYS[0], (), 0)

    # When
    rows = rows_of(batches_of(0, history.records[2:]), claims={0: 1})

    # Then
    (whole,) = (row for row in rows if row["kind"] == PARTITION)
    assert whole["ignored_count"] == 1


def test_what_is_sent_to_executors_can_be_pickled() -> None:
    # When
    copy = pickle.loads(pickle.dumps(FOLD))

    # Then
    assert copy.func is fold_batches
