"""Logs that are not whole: their beginning is gone, or a record of theirs is of no use. Nobody is left to guess it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.jobs.folds.snapshot_index import SnapshotIndex, index_batches
from kproxy.jobs.history.silver import SILVER_ARROW_SCHEMA, batch_of_silver, missing_row
from kproxy.jobs.result_writer import write_parquet
from kproxy.jobs.sources.log_reader import Gap
from kproxy.jobs.sources.raw_records import batch_of
from kproxy.jobs.sources.tracked_log import TrackedLog
from kproxy.share.record_state import RecordState
from kproxy.share.state_batches import StateBatch
from kproxy.wire.records import Record
from tests.in_memory.in_memory_log_reader import InMemoryLogReader
from tests.spark.replays import answer_of, replay, summary_of
from tests.worlds.histories import FIRST_MS, KEYS, History

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark"), pytest.mark.soak]

FIRST, SECOND, THIRD = KEYS
UNKNOWN_RECORD: Final = Record(b"\x00\x09", b"?")
NOT_FOUND: Final = 3


def accepted(first_offset: int, last_offset: int, times: int = 1) -> list[StateBatch]:
    return [StateBatch(first_offset, last_offset, RecordState.ACKNOWLEDGED, times)]


def released(offset: int, times: int) -> list[StateBatch]:
    return [StateBatch(offset, offset, RecordState.AVAILABLE, times)]


def put(folder: Path, partition: int, records: Sequence[Record]) -> Path:
    """Write a log partition into a folder of record files."""
    folder.mkdir(exist_ok=True)
    table = pa.Table.from_batches([batch_of(partition, records)])
    pq.write_table(table, folder / f"{partition}.parquet")
    return folder


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A log of one partition, offsets 0 to 4, of two share-partitions of a group."""
    history = History()
    history.snapshot(FIRST)
    history.snapshot(SECOND)
    history.update(FIRST, accepted(0, 1), 0)
    history.update(FIRST, released(2, 4), 0)
    history.update(SECOND, accepted(5, 5), 0)
    return put(tmp_path / "whole", 0, history.records)


@pytest.fixture
def unusable(tmp_path: Path) -> Path:
    """A log whose last record, at offset 2, is of a type that nobody knows."""
    history = History()
    history.snapshot(FIRST)
    history.update(FIRST, accepted(0, 1), 0)
    last = replace(UNKNOWN_RECORD, offset=2, timestamp_ms=FIRST_MS + 2000)
    return put(tmp_path / "unusable", 0, [*history.records, last])


@pytest.fixture
def eaten(tmp_path: Path) -> Path:
    """A log whose partition 0 begins at offset 4, with an update of the one share-partition whose snapshot is gone."""
    history = History()
    history.snapshot(FIRST)
    history.snapshot(SECOND)
    history.update(FIRST, accepted(0, 1), 0)
    history.snapshot(SECOND)
    history.update(FIRST, accepted(2, 2), 0)
    history.snapshot(SECOND)
    history.update(SECOND, accepted(0, 0), 0)
    other = History()
    other.snapshot(THIRD)
    put(tmp_path / "eaten", 1, other.records)
    return put(tmp_path / "eaten", 0, history.records[4:])


def test_an_analysis_says_which_records_it_cannot_use(unusable: Path) -> None:
    # When
    ended = replay("lag-history", "--files", unusable, "-o", "json")

    # Then
    (gap,) = summary_of(ended)["gaps"]
    assert (gap["partition"], gap["firstOffset"], gap["endOffset"]) == (0, 2, 3)
    assert gap["reason"] == "the record cannot be used: unknown record type 9"
    assert (ended.exit_code, summary_of(ended)["corrupt"]) == (6, 1)


def test_what_an_export_missed_is_missing_in_its_analyses_as_well(spark: Any, tmp_path: Path) -> None:
    # Given
    rows = [missing_row(3, 100, 120, FIRST_MS)]
    write_parquet(spark.createDataFrame(pa.Table.from_batches([batch_of_silver(rows)])), tmp_path / "silver")
    assert set(rows[0]) <= set(SILVER_ARROW_SCHEMA.names)

    # When
    ended = replay("throughput", "--files", tmp_path / "silver", "-o", "json")

    # Then
    assert ended.exit_code == 6
    assert "partition 3: offsets 100-119 are missing: deleted before they were read" in ended.stderr


def test_an_analysis_says_that_the_log_begins_late_unless_it_was_asked_for_less(eaten: Path) -> None:
    # When
    asked_for_all, asked_for_the_end = (
        replay("throughput", "--files", eaten, *since, "-o", "json")
        for since in ((), ("--since", str(FIRST_MS + 4500)))
    )

    # Then
    warning = "Warning: the log begins late, partition 0 at offset 4: what was written before"
    assert warning in asked_for_all.stderr
    assert warning not in asked_for_the_end.stderr
    assert (asked_for_all.exit_code, asked_for_the_end.exit_code) == (0, 0)


def test_a_record_that_only_a_snapshot_knows_is_stuck_without_a_history(tmp_path: Path) -> None:
    # Given
    history = History()
    history.snapshot(FIRST)
    history.update(FIRST, released(3, 4), 0)
    history.snapshot(FIRST)
    log = put(tmp_path / "snapshot only", 0, history.records[2:])

    # When
    ended = replay("stuck", "--files", log, "-o", "json")

    # Then
    (record,) = answer_of(ended)
    assert (record["offset"], record["reason"], record["since"], record["history"]) == (
        3,
        "near-delivery-limit",
        None,
        [],
    )


def test_since_cuts_the_history_of_stuck_records_and_not_what_is_stuck(whole: Path) -> None:
    # When
    found = [
        answer_of(replay("stuck", "--files", whole, "--behind", "9", *since, "-o", "json"))
        for since in ((), ("--since", str(FIRST_MS + 3500)))
    ]

    # Then
    (record,), (later,) = found
    assert [each["logOffset"] for each in record["history"]] == [3]
    assert later == record | {"history": []}


def test_with_an_index_lost_states_are_reported_as_they_are_without(eaten: Path, tmp_path: Path) -> None:
    # Given
    index = ("--index", tmp_path / "index")

    # When
    whole, short = (
        replay("state-at", "--files", eaten, *how, "-o", "json") for how in (("--no-index",), index)
    )

    # Then
    assert [gap["endOffset"] for gap in summary_of(whole)["gaps"]] == [4]
    assert summary_of(short)["gaps"] == summary_of(whole)["gaps"]
    assert answer_of(short) == answer_of(whole)
    assert [whole.exit_code, short.exit_code] == [6, 6]


def test_an_index_knows_the_snapshots_that_were_deleted_since(spark: Any, tmp_path: Path) -> None:
    # Given
    history = History()
    history.snapshot(FIRST)
    history.snapshot(SECOND)
    batches = index_batches(iter([batch_of(0, history.records)]), claims={}, since={0: 0}, on_corrupt="stop")
    (tmp_path / "entries").mkdir()
    pq.write_table(pa.Table.from_batches(batches), tmp_path / "entries" / "0.parquet")
    log = TrackedLog(spark, InMemoryLogReader([]))

    # When
    lost = SnapshotIndex(log, str(tmp_path), {0: 2}).lost([LogRange(0, 1, 2)])

    # Then
    assert lost == [Gap(0, 0, 1, "the snapshot of 1 share-partition is lost")]


def test_a_moment_before_the_beginning_of_a_log_partition_is_a_gap_there(eaten: Path) -> None:
    # When
    ended = replay("state-at", "--files", eaten, "--no-index", "--at", str(FIRST_MS), "-o", "json")

    # Then
    (gap,) = summary_of(ended)["gaps"]
    assert (gap["partition"], gap["firstOffset"], gap["endOffset"]) == (0, 0, 4)
    assert [state["groupId"] for state in answer_of(ended)] == [THIRD.group_id]
    assert ended.exit_code == 6


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("lag-history", "--group", "workers", "--partition", "99"), "no partition 99 of group 'workers' in"),
        (("stuck", "--topic", "my-orders-topic-eu-001"), "no topic 'my-orders-topic-eu-001' in files at"),
        (("audit", "--member", "nobody"), "no member or client 'nobody' in files at"),
        (("state-at", "--no-index", "--group", "nobody"), "no state of group 'nobody' in files at"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_what_the_log_has_never_heard_of_is_not_found(whole: Path, asked: Sequence[str], said: str) -> None:
    # When
    ended = replay(*asked, "--files", whole)

    # Then
    assert ended.exit_code == NOT_FOUND
    assert said in ended.stderr.splitlines()[-1]
    assert "; known are " in ended.stderr.splitlines()[-1]
    assert ended.stdout == ""


def test_what_the_log_knows_at_another_time_is_an_empty_answer(whole: Path) -> None:
    # When
    ended = replay(
        "throughput", "--files", whole, "--group", "workers", "--until", "2020-01-01", "-o", "json"
    )

    # Then
    assert (ended.exit_code, answer_of(ended)) == (0, [])


def test_files_do_not_say_how_many_partitions_a_log_is_to_have(whole: Path) -> None:
    # When
    ended = replay("snapshot", "--files", whole)

    # Then
    assert ended.exit_code == 2
    assert "give --partitions" in ended.stderr
