from pathlib import Path

import pytest

from kproxy.clients.log_ranges import LogRange
from kproxy.errors import ExitCode
from kproxy.jobs.export.checkpoint import begun_at, require_continuation, require_same_log
from kproxy.jobs.failures import JobFailed


def test_an_export_knows_where_it_began_whatever_the_log_lost_since(tmp_path: Path) -> None:
    # Given
    begun_at(str(tmp_path), [LogRange(0, 5, 9), LogRange(1, 0, 0)])

    # When
    begun = begun_at(str(tmp_path), [LogRange(0, 8, 9), LogRange(1, 4, 6), LogRange(2, 2, 3)])

    # Then
    assert begun == {0: 5, 1: 0}


def test_an_export_whose_checkpoint_is_lost_is_not_written_twice(tmp_path: Path) -> None:
    # Given
    (tmp_path / "history" / "dt=2026-11-20").mkdir(parents=True)

    # When
    with pytest.raises(JobFailed, match="holds an export already") as refusal:
        require_continuation(str(tmp_path / "history"), str(tmp_path / "checkpoint"))

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE


def test_an_export_begins_in_an_empty_folder_and_goes_on_with_its_checkpoint(tmp_path: Path) -> None:
    # Given
    history = tmp_path / "history"
    require_continuation(str(history), str(history / "_checkpoint"))
    (history / "_checkpoint" / "stream").mkdir(parents=True)

    # When
    require_continuation(str(history), str(history / "_checkpoint"))


def test_an_export_goes_on_with_the_log_that_it_began_with_and_with_no_other(tmp_path: Path) -> None:
    # Given
    checkpoint = str(tmp_path / "history" / "_checkpoint")
    require_same_log(checkpoint, "cluster:topic:1")
    require_same_log(checkpoint, "cluster:topic:1")

    # When
    with pytest.raises(
        JobFailed, match="another log: of cluster:topic:1, and this is cluster:topic:2"
    ) as refusal:
        require_same_log(checkpoint, "cluster:topic:2")

    # Then
    assert refusal.value.exit_code is ExitCode.USAGE
