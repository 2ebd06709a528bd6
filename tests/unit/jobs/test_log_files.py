from pathlib import Path

import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.log_files import find_files, uri_of


def test_files_of_folders_are_found_and_hidden_ones_are_not(tmp_path: Path) -> None:
    # Given
    for name in ("dt=1/a.parquet", "dt=2/b.parquet", "_checkpoint/c.parquet", "dt=1/.d.parquet", "_SUCCESS"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    # When
    found = find_files(tmp_path.as_uri())

    # Then
    assert found.paths == (str(tmp_path / "dt=1/a.parquet"), str(tmp_path / "dt=2/b.parquet"))
    assert found.is_parquet
    assert found.uris[0] == (tmp_path / "dt=1/a.parquet").as_uri()


def test_a_single_file_may_be_given_whatever_its_folder_is_called(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "_dumps" / "dump.jsonl"
    file.parent.mkdir()
    file.write_text("{}")

    # When
    found = find_files(str(file))

    # Then
    assert found.paths == (str(file),)
    assert found.are_lines


def test_the_stamp_changes_with_a_file(tmp_path: Path) -> None:
    # Given
    file = tmp_path / "dump.jsonl"
    file.write_text("{}")
    before = find_files(str(tmp_path)).stamp

    # When
    file.write_text("{}{}")

    # Then
    assert find_files(str(tmp_path)).stamp != before


@pytest.mark.parametrize("name", ["nothing", "."])
def test_where_there_is_no_file_nothing_is_found(tmp_path: Path, name: str) -> None:
    # When
    with pytest.raises(JobFailed, match="there is no file at") as refusal:
        find_files(str(tmp_path / name))

    # Then
    assert refusal.value.exit_code is ExitCode.NOT_FOUND


def test_a_file_system_that_nobody_knows_is_a_usage_error() -> None:
    # When
    with pytest.raises(JobFailed) as refusal:
        find_files("floppy://a/b")

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_a_path_becomes_a_uri_and_a_uri_stays_one() -> None:
    # When
    uris = [uri_of("/a b"), uri_of("s3://bucket/a"), uri_of("file:/a")]

    # Then
    assert uris == ["file:///a%20b", "s3://bucket/a", "file:/a"]
