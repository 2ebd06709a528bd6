from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.log_files import find_files
from kproxy.jobs.sources.parquet_log import RowGroup, read_row_groups, row_groups
from kproxy.jobs.sources.raw_records import RAW_ARROW_SCHEMA, batch_of, records_of
from kproxy.wire.records import Record


def a_file(path: Path, partition: int, offsets: Sequence[int], *, rows_per_group: int = 3) -> None:
    batch = batch_of(partition, [Record(b"k", b"v", (), 7, offset) for offset in offsets])
    pq.write_table(pa.Table.from_batches([batch]), path, row_group_size=rows_per_group)


def test_the_footers_tell_where_each_record_is(tmp_path: Path) -> None:
    # Given
    a_file(tmp_path / "b.parquet", 0, range(5))
    a_file(tmp_path / "a.parquet", 0, range(5, 8))

    # When
    groups = row_groups(find_files(str(tmp_path)))

    # Then
    first, second = str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet")
    assert groups == [
        RowGroup(0, 0, 2, first, 0),
        RowGroup(0, 3, 4, first, 1),
        RowGroup(0, 5, 7, second, 0),
    ]


def test_files_whose_offsets_overlap_stand_in_no_order(tmp_path: Path) -> None:
    # Given
    a_file(tmp_path / "a.parquet", 0, [0, 1, 5])
    a_file(tmp_path / "b.parquet", 0, [3, 6])

    # When
    groups = row_groups(find_files(str(tmp_path)))

    # Then
    assert groups is None


def test_a_row_group_with_two_log_partitions_stands_in_no_order(tmp_path: Path) -> None:
    # Given
    batches = [batch_of(partition, [Record(b"k", b"v", (), 7, 0)]) for partition in (0, 1)]
    pq.write_table(pa.Table.from_batches(batches), tmp_path / "a.parquet")

    # When
    groups = row_groups(find_files(str(tmp_path)))

    # Then
    assert groups is None


def test_a_range_is_read_across_row_groups(tmp_path: Path) -> None:
    # Given
    a_file(tmp_path / "a.parquet", 4, range(10))
    groups = row_groups(find_files(str(tmp_path)))
    assert groups is not None

    # When
    batches = list(read_row_groups(LogRange(4, 2, 7), groups))

    # Then
    assert [record.offset for batch in batches for _, record in records_of(batch)] == [2, 3, 4, 5, 6]
    assert {batch.schema for batch in batches} == {RAW_ARROW_SCHEMA}


def test_records_out_of_order_within_a_row_group_are_not_folded(tmp_path: Path) -> None:
    # Given
    a_file(tmp_path / "a.parquet", 0, [0, 2, 1])
    group = RowGroup(0, 0, 2, str(tmp_path / "a.parquet"), 0)

    # When
    with pytest.raises(JobFailed) as refusal:
        list(read_row_groups(LogRange(0, 0, 3), [group]))

    # Then
    assert "do not stand in the order" in str(refusal.value)


def test_parquet_of_something_else_is_a_usage_error(tmp_path: Path) -> None:
    # Given
    pq.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")

    # When
    with pytest.raises(JobFailed, match="holds no log records: no column") as refusal:
        row_groups(find_files(str(tmp_path)))

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_a_file_that_is_no_parquet_is_a_usage_error(tmp_path: Path) -> None:
    # Given
    (tmp_path / "a.parquet").write_text("hello")

    # When
    with pytest.raises(JobFailed, match="is no Parquet file") as refusal:
        row_groups(find_files(str(tmp_path)))

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
