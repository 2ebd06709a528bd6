from typing import Any

import pytest
from hypothesis import given

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.fold_rows import PARTITION, STATE, image_of_rows
from kproxy.jobs.live_state import LiveSlot
from kproxy.jobs.log_reader import LogRange
from kproxy.jobs.raw_records import batch_of
from kproxy.jobs.verify import barrier_ranges, examine_batches
from kproxy.jobs.verify_rules import VIOLATION
from kproxy.statelog.fold import StateLogFold
from kproxy.wire.records import Record
from tests.spark.histories import KEYS, History, histories


def rows_of(records: list[Record]) -> list[dict[str, Any]]:
    batches = examine_batches(iter([batch_of(5, records)]), delivery_limit=5)
    return [row for batch in batches for row in batch.to_pylist()]


@given(history=histories())
def test_what_is_examined_is_folded_as_well(history: History) -> None:
    # Given
    fold = StateLogFold()
    for record in history.records:
        fold.apply(record)

    # When
    rows = rows_of(history.records)

    # Then
    assert image_of_rows(row for row in rows if row["kind"] in (STATE, PARTITION)).states == fold.states


def test_a_violation_has_a_row_with_its_place_in_the_log() -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])

    # When
    rows = rows_of([*history.records, Record(b"\x00\x09", b"?", (), 0, 1)])

    # Then
    (row,) = (row for row in rows if row["kind"] == VIOLATION)
    assert (row["log_partition"], row["log_offset"], row["detail"]) == (5, 1, "unknown record type 9")


def test_the_log_is_read_up_to_what_the_running_kproxy_has_applied() -> None:
    # Given
    held = [LogRange(0, 10, 100), LogRange(1, 0, 50)]

    # When
    ranges = barrier_ranges(held, [LiveSlot(0, 59, ()), LiveSlot(1, 49, ())])

    # Then
    assert ranges == [LogRange(0, 10, 60), LogRange(1, 0, 50)]


@pytest.mark.parametrize("slot", [LiveSlot(0, 100, ()), LiveSlot(7, 3, ())])
def test_a_log_that_is_not_that_of_the_running_kproxy_fails_the_check(slot: LiveSlot) -> None:
    # When
    with pytest.raises(JobFailed, match="is it the log of this kproxy") as refusal:
        barrier_ranges([LogRange(0, 10, 100)], [slot])

    # Then
    assert refusal.value.exit_code is ExitCode.CHECK_FAILED
