"""What a job says on standard error: its own words, and what keeps Spark from starting; nothing of its start."""

import json
import os
import subprocess
import sys

import pytest

from tests.spark.test_jobs import DEMO

pytestmark = pytest.mark.spark


def replay(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # The Spark of the other tests has options of its own, and a JVM says that it picked such up.
    inherited = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    return subprocess.run(
        [sys.executable, "-m", "kproxy.jobs", *arguments, "--files", str(DEMO)],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.soak
def test_a_job_that_goes_well_says_nothing_but_its_summary() -> None:
    # When
    ended = replay("state-at", "--no-index", PYSPARK_SUBMIT_ARGS="--master local[2] pyspark-shell")

    # Then
    *others, summary = ended.stderr.splitlines()
    assert [line for line in others if not line.startswith("state-at: ")] == [], (
        "but how far it is, if that takes long"
    )
    assert json.loads(summary)["job"] == "state-at"
    assert ended.returncode == 0


def test_what_keeps_spark_from_starting_is_said() -> None:
    # When
    ended = replay("state-at", JDK_JAVA_OPTIONS="-XX:NoSuchOption")

    # Then
    assert "NoSuchOption" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("Error: Spark does not start: ")
    assert ended.returncode == 1
