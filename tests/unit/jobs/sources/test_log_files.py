import re
from pathlib import Path

import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.sources.log_files import arrow_uri_of, find_files, pattern_of, uri_of


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
    # Spark would look for a folder of the name dt%3D1.
    assert found.uris[0] == f"file://{tmp_path}/dt=1/a.parquet"


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
    uris = [uri_of("/a b/c=1"), uri_of("s3://bucket/a"), uri_of("file:/a"), uri_of("file:///a b")]

    # Then
    assert uris == ["file:///a b/c=1", "s3://bucket/a", "file:///a", "file:///a b"]


def test_a_uri_of_this_machine_leads_to_the_path_that_it_was_made_of(tmp_path: Path) -> None:
    # Given
    folder = tmp_path / "50% of it"
    folder.mkdir()
    (folder / "dump.jsonl").touch()

    # When
    found = find_files(uri_of(str(folder)))

    # Then
    assert found.paths == (str(folder / "dump.jsonl"),)


@pytest.mark.parametrize("place", ["/a b[1],ü", "s3a://bucket/{a}*?\\"])
def test_what_spark_reads_is_the_place_itself_whatever_it_is_called(place: str) -> None:
    # When
    pattern = pattern_of(place)

    # Then
    assert re.sub(r"\\(.)", r"\1", pattern) == uri_of(place)
    assert not re.search(r"(?<!\\)[\[\]{}*?]", pattern)


def test_hadoops_name_for_object_storage_becomes_the_one_that_pyarrow_knows() -> None:
    # When
    uris = [arrow_uri_of(uri) for uri in ("s3a://bucket/s3a:/a", "s3://bucket/a", "hdfs://name:8020/a")]

    # Then
    assert uris == ["s3://bucket/s3a:/a", "s3://bucket/a", "hdfs://name:8020/a"]
