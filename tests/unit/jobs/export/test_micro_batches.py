from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kproxy.jobs.export.micro_batches import silver_of_batch
from kproxy.jobs.folds.carried_folds import CarriedFolds
from kproxy.jobs.history.silver import MISSING, silver_batches
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.wire.records import Record
from tests.worlds.histories import KEYS, History, histories


def exported(
    records: Sequence[Record], folder: Path | str, batch: int, begun: Mapping[int, int] | None = None
) -> list[dict[str, Any]]:
    carried = CarriedFolds(str(folder))
    read = [batch_of(0, records)] if records else []
    batches = silver_of_batch(iter(read), carried=carried, batch=batch, begun=begun or {})
    return [row for rows in batches for row in rows.to_pylist()]


def at_once(records: Sequence[Record]) -> list[dict[str, Any]]:
    return [
        row for rows in silver_batches(iter([batch_of(0, records)]), images={}) for row in rows.to_pylist()
    ]


@given(history=histories(), data=st.data())
def test_an_export_in_parts_has_the_rows_of_an_export_at_once(history: History, data: st.DataObject) -> None:
    # Given
    cut = data.draw(st.integers(0, len(history.records)))

    # When
    with TemporaryDirectory() as folder:
        rows = exported(history.records[:cut], folder, 0) + exported(history.records[cut:], folder, 1)

    # Then
    assert rows == at_once(history.records)


def test_a_micro_batch_that_runs_again_has_the_same_rows(tmp_path: Path) -> None:
    # Given
    history = History()
    history.snapshot(KEYS[0])
    history.update(KEYS[0], (), 1)
    exported(history.records[:1], tmp_path, 0)
    first = exported(history.records[1:], tmp_path, 1)

    # When
    again = exported(history.records[1:], tmp_path, 1)

    # Then
    assert again == first
    assert [row["state_epoch"] for row in first] == [1]


def test_records_that_are_missing_between_two_micro_batches_have_a_row() -> None:
    # Given
    history = History()
    for _ in range(10):
        history.snapshot(KEYS[0])

    # When
    with TemporaryDirectory() as folder:
        exported(history.records[:3], folder, 0)
        rows = exported(history.records[7:], folder, 1)

    # Then
    missing, *others = rows
    assert (missing["kind"], missing["first_offset"], missing["last_offset"]) == (MISSING, 3, 6)
    assert [row["log_offset"] for row in others] == [7, 8, 9]


@pytest.mark.parametrize(("begun", "missing"), [({}, [(0, 6)]), ({0: 3}, [(3, 6)]), ({0: 7}, [])])
def test_records_that_are_missing_before_the_first_micro_batch_have_a_row(
    tmp_path: Path, begun: Mapping[int, int], missing: Sequence[tuple[int, int]]
) -> None:
    # Given
    history = History()
    for _ in range(10):
        history.snapshot(KEYS[0])

    # When
    rows = exported(history.records[7:], tmp_path, 0, begun)

    # Then
    assert [(row["first_offset"], row["last_offset"]) for row in rows if row["kind"] == MISSING] == missing
    assert [row["log_offset"] for row in rows if row["kind"] != MISSING] == [7, 8, 9]
