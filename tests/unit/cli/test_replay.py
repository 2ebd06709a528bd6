import os
import subprocess
import sys

import pytest

from kproxy.cli.replay import environment

BECOME = """
import os, sys
from kproxy.cli.replay import become
print("before")
become([sys.executable, "-c", "import os; print(os.getpid(), os.environ)"], {"ONLY": "this"})
"""


def kproxy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kproxy", *arguments], capture_output=True, text=True, check=False
    )


def test_the_help_is_that_of_the_jobs() -> None:
    # When
    ended = kproxy("replay", "--help")

    # Then
    assert ended.returncode == 0
    assert ended.stdout.startswith("Usage: kproxy replay")
    assert "state-at" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "status"), [(("state-at",), 2), (("no-such-job",), 2), (("verify", "--help"), 0)]
)
def test_a_job_ends_the_command_with_its_own_status(arguments: tuple[str, ...], status: int) -> None:
    # When
    ended = kproxy("replay", *arguments)

    # Then
    assert ended.returncode == status


def test_the_workers_of_spark_run_the_same_python_unless_somebody_says_otherwise() -> None:
    # When
    given = environment({"PATH": os.defpath, "PYSPARK_PYTHON": "/usr/bin/python3.12"})

    # Then
    assert given == {
        "PATH": os.defpath,
        "PYSPARK_PYTHON": "/usr/bin/python3.12",
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def test_the_jobs_are_the_same_process_so_that_signals_reach_them() -> None:
    # When
    with subprocess.Popen([sys.executable, "-c", BECOME], stdout=subprocess.PIPE, text=True) as started:
        before, after = started.communicate()[0].splitlines()

    # Then
    assert before == "before"
    assert after.startswith(f"{started.pid} ")
    assert "'ONLY': 'this'" in after
    assert "PATH" not in after
