"""How jobs end that cannot go on: with one line that says why, and an exit code of its own."""

import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner, Result
from py4j.protocol import Py4JError

from kproxy.errors import CorruptStateRecord
from kproxy.jobs.command_line import Terminated, job_command
from kproxy.jobs.failures import JobFailed
from kproxy.jobs.job import Job
from kproxy.jobs.result_writer import ResultWriter
from tests.spark.replays import replay
from tests.spark.test_jobs import DEMO

EARLY_LOG = Path(__file__).parents[1] / "unit" / "jobs" / "sources" / "data" / "kip_control.jsonl"

pytestmark = pytest.mark.usefixtures("spark")


def ended_by(failure: BaseException) -> Result:
    """A job that fails so, once it has a log."""

    def run(*_: object, **__: object) -> NoReturn:
        raise failure

    return CliRunner().invoke(job_command("x", "Ask.", Job(run=run)), ["--files", str(DEMO)])


@pytest.mark.parametrize(
    ("failure", "exit_code", "said"),
    [
        (CorruptStateRecord("no record", offset=3), 1, "offset 3: no record"),
        (OSError(28, "No space left on device"), 1, "[Errno 28] No space left on device"),
        (
            Py4JError("An error occurred while calling o1.x. Trace:\npy4j.Py4JException: no x\n"),
            1,
            "Spark failed: py4j.Py4JException: no x",
        ),
        (KeyboardInterrupt(), 130, "stopped by SIGINT"),
        (Terminated(), 143, "stopped by SIGTERM"),
    ],
)
def test_whatever_ends_a_job_is_one_line_and_an_exit_code(
    failure: BaseException, exit_code: int, said: str
) -> None:
    # When
    ended = ended_by(failure)

    # Then
    assert (ended.exit_code, ended.stdout, ended.stderr) == (exit_code, "", f"Error: {said}\n")


@pytest.mark.parametrize("job", ["state-at", "throughput"])
def test_a_log_that_is_given_twice_is_refused(job: str, tmp_path: Path) -> None:
    # Given
    for name in ("monday.jsonl", "tuesday.jsonl"):
        (tmp_path / name).write_bytes(DEMO.read_bytes())

    # When
    ended = replay(job, "--files", tmp_path)

    # Then
    *_, line = ended.stderr.splitlines()  # a slow machine sees progress before
    assert line.endswith("stands there twice; give files that do not overlap")
    assert (ended.exit_code, ended.stdout) == (2, "")


@pytest.mark.parametrize(
    ("form", "said"), [("kafka", "no line of kproxy log dump"), ("kip-control", "bytes that are no UTF-8")]
)
def test_bytes_that_are_no_text_are_refused(form: str, said: str, tmp_path: Path) -> None:
    # Given
    (tmp_path / "latin.jsonl").write_bytes(b'{"GroupId": "M\xfcller"}\n')

    # When
    ended = replay("state-at", "--files", tmp_path, "--format", form)

    # Then
    (line,) = ended.stderr.splitlines()
    assert said in line
    assert (ended.exit_code, ended.stdout) == (2, "")


def test_nobody_is_told_to_skip_a_line_of_an_early_form_that_cannot_be_skipped(tmp_path: Path) -> None:
    # Given
    (tmp_path / "log.jsonl").write_text(EARLY_LOG.read_text() + "\n{}\n")

    # When
    ended = replay("state-at", "--files", tmp_path, "--format", "kip-control", "--on-corrupt", "skip")

    # Then
    assert ended.exit_code == 1
    assert "no record of the form kip-control" in ended.stderr
    assert "--on-corrupt" not in ended.stderr


def test_a_full_standard_output_is_one_line(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)

        # When
        with pytest.raises(JobFailed) as refusal:
            ResultWriter("csv").write(spark.range(3))

    # Then
    assert str(refusal.value) == "standard output cannot be written: No space left on device"
