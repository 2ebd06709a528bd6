from io import StringIO
from pathlib import Path

import pytest

from kproxy.errors import ExitCode
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.result_writer import ResultWriter, require_writable, title_of, write_table, written_aside


def test_titles_are_made_of_the_names_of_columns() -> None:
    # When
    titles = [title_of(name) for name in ("startOffset", "partition", "log_offset")]

    # Then
    assert titles == ["START-OFFSET", "PARTITION", "LOG-OFFSET"]


def test_what_was_written_is_there_when_it_is_whole(tmp_path: Path) -> None:
    # Given
    path = tmp_path / "new" / "result.json"

    # When
    with written_aside(path) as aside:
        aside.write_text("[]")
        is_there_early = path.exists()

    # Then
    assert not is_there_early
    assert path.read_text() == "[]"
    assert list(path.parent.iterdir()) == [path]


def write_half(path: Path) -> None:
    with written_aside(path) as aside:
        aside.write_text("[")
        raise ZeroDivisionError


def test_of_what_fails_half_way_nothing_stays(tmp_path: Path) -> None:
    # When
    with pytest.raises(ZeroDivisionError):
        write_half(tmp_path / "result.json")

    # Then
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_can_write_it_is_said_in_one_line(tmp_path: Path) -> None:
    # Given
    (tmp_path / "file").touch()

    # When
    with (
        pytest.raises(JobFailed, match="cannot be written") as refusal,
        written_aside(tmp_path / "file" / "result.json"),
    ):
        pass

    # Then
    assert refusal.value.exit_code is ExitCode.FAILED


@pytest.mark.parametrize("place", ["result.json", "new/folder/result.json"])
def test_to_look_whether_a_place_can_be_written_to_leaves_nothing_there(tmp_path: Path, place: str) -> None:
    # When
    require_writable(tmp_path / place)

    # Then
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (ResultWriter("parquet", None), "-o parquet needs a folder"),
        (ResultWriter("json", Path(__file__)), "is there already"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(output: ResultWriter, said: str) -> None:
    # When
    with pytest.raises(JobFailed, match=said) as refusal:
        output.require_possible()

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_a_table_shows_what_is_made_of_a_row_in_the_columns_that_fit() -> None:
    # Given
    rows: list[dict[str, object]] = [{"topicId": "AAA", "topicName": None, "startOffset": 4}]
    text = StringIO()

    # When
    count = write_table(
        ("topicName", "startOffset"), rows, text, {"topicName": lambda row: row["topicId"]}, with_header=True
    )

    # Then
    assert count == 1
    assert text.getvalue() == "TOPIC-NAME  START-OFFSET\nAAA         4\n"
