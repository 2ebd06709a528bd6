import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from kproxy.jobs.command_line import Terminated, job_command, jobs, sigterm_as_interrupt
from kproxy.jobs.job import Job
from kproxy.jobs.registry import JOBS

HELP_AND_IS_SPARK_THERE = """
import sys
from kproxy.jobs.command_line import main
try:
    main(["--help"])
except SystemExit:
    print("pyspark" in sys.modules)
"""


def called(*arguments: str) -> Result:
    return CliRunner().invoke(jobs, list(arguments))


def test_the_help_lists_every_job_and_imports_none() -> None:
    # Given
    code = HELP_AND_IS_SPARK_THERE

    # When
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    # Then
    *shown, has_spark = ended.stdout.splitlines()
    assert all(any(line.split()[:1] == [name] for line in shown) for name in JOBS)
    assert has_spark == "False"


@pytest.mark.parametrize("name", list(JOBS))
def test_every_job_explains_its_options(name: str) -> None:
    # When
    ended = called(name, "--help")

    # Then
    assert ended.exit_code == 0
    assert "--files" in ended.output
    assert JOBS[name].purpose.split(maxsplit=1)[0] in ended.output


def test_stuck_explains_its_columns() -> None:
    # When
    shown = called("stuck", "--help").output

    # Then
    for column in ("REASON", "DELIVERY-COUNT", "DONE-BEHIND", "LAG", "SINCE", "HISTORY"):
        assert f"\n    {column} " in shown
    assert "for the first time; not when it was acquired" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("state-at",), "either -b HOST:PORT or --files PATH"),
        (("state-at", "-b", "a:1", "--files", "x"), "either -b HOST:PORT or --files PATH"),
        (("state-at", "-b", "a:1", "-K", "oops"), "expected KEY=VALUE"),
        (("state-at", "--files", "x", "-o", "parquet"), "--out PATH"),
        (("state-at", "--files", "x", "--out", str(Path(__file__))), "is there already"),
        (("state-at", "--files", "x", "--at", "99999999999999999999"), "is no time"),
        (("throughput", "--files", "x", "--since", "20261320"), "is no time"),
    ],
)
def test_bad_usage_is_one_line_before_spark_starts(arguments: tuple[str, ...], said: str) -> None:
    # When
    ended = called(*arguments)

    # Then
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert said in ended.stderr


def test_only_a_job_that_has_a_picture_takes_plot() -> None:
    # Given
    def run(*_: object, **__: object) -> None:
        raise AssertionError

    # When
    commands = [job_command("x", "Ask.", Job(run=run, has_plot=has_plot)) for has_plot in (False, True)]  # type: ignore[arg-type]  # never run

    # Then
    has_plot = [
        "--plot" in {option for each in command.params for option in each.opts} for command in commands
    ]
    assert has_plot == [False, True]
    assert all(isinstance(command, click.Command) for command in commands)


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_where_nothing_can_be_written_no_job_begins(option: str, tmp_path: Path) -> None:
    # Given
    (tmp_path / "file").touch()

    # When
    ended = called("throughput", "--files", "x", option, str(tmp_path / "file" / "picture.png"))

    # Then
    assert ended.exit_code == 1
    assert ended.stderr.startswith(f"Error: {tmp_path / 'file' / 'picture.png'} cannot be written: ")


def test_sigterm_is_an_interrupt_until_the_end_of_the_block() -> None:
    # Given
    before = signal.getsignal(signal.SIGTERM)

    # When
    with pytest.raises(Terminated) as stop, sigterm_as_interrupt():
        signal.raise_signal(signal.SIGTERM)

    # Then
    assert stop.type is Terminated
    assert signal.getsignal(signal.SIGTERM) is before
