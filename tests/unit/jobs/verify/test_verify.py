from typing import Any

import pytest
from hypothesis import given

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.folds.fold_rows import PARTITION, STATE, image_of_rows
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.jobs.verify.live_state import LiveSlot
from kproxy.jobs.verify.verify import barrier_ranges, examine_batches, require_log_of_kproxy
from kproxy.jobs.verify.verify_rules import VIOLATION
from kproxy.statelog.partitioning import group_partition
from kproxy.statelog.state_log_fold import StateLogFold
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, History, histories


def rows_of(
    records: list[Record], *, partition: int = 5, partition_count: int | None = None
) -> list[dict[str, Any]]:
    read = iter([batch_of(partition, records)])
    batches = examine_batches(read, delivery_limit=5, partition_count=partition_count)
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


@pytest.mark.parametrize(
    ("slots", "detail"),
    [
        ([], "log partition 0, of which the running kproxy has no slot"),
        ([LiveSlot(0, 99, ())], "log partition 1, of which the running kproxy has no slot"),
        ([LiveSlot(0, 99, ()), LiveSlot(1, 50, ())], "applied offset 50 of log partition 1, which ends"),
        (
            [LiveSlot(number, 1, ()) for number in range(3)],
            "applied offset 1 of log partition 2, which is not",
        ),
    ],
)
def test_a_log_that_is_not_that_of_the_running_kproxy_fails_the_check(
    slots: list[LiveSlot], detail: str
) -> None:
    # When
    with pytest.raises(JobFailed, match="is it the log of this kproxy") as refusal:
        barrier_ranges([LogRange(0, 0, 100), LogRange(1, 0, 50)], slots)

    # Then
    assert detail in str(refusal.value)
    assert refusal.value.exit_code is ExitCode.CHECK_FAILED


def test_another_topic_than_the_one_of_the_running_kproxy_fails_the_check() -> None:
    # When
    with pytest.raises(JobFailed) as refusal:
        require_log_of_kproxy("c:mine:1", "c:mine:2")

    # Then
    assert str(refusal.value) == (
        "the running kproxy keeps its state in c:mine:2, and c:mine:1 was given (cluster:topic:topic id): "
        "is it the log of this kproxy?"
    )
    assert refusal.value.exit_code is ExitCode.CHECK_FAILED


def test_a_share_partition_in_the_wrong_log_partition_is_found_when_it_is_known_how_many_there_are() -> None:
    # Given
    history = History()
    history.claim()
    history.snapshot(KEYS[0])
    right = group_partition(KEYS[0].group_id, 50)

    # When
    rows = rows_of(history.records, partition=(right + 1) % 50, partition_count=50)

    # Then
    (row,) = (row for row in rows if row["kind"] == VIOLATION)
    assert row["detail"] == f"belongs to log partition {right} of 50"
