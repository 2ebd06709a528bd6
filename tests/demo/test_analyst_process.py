"""The process with Spark, played by small scripts that have none."""

import os
import sys
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.demo.analyst_process import AnalystProcess
from tests.demo.answers import Answer, Started
from tests.demo.failures import AnalystFailed

STARTS: Final = """
import json, sys
print(json.dumps({"spark_version": "4.3.0", "seconds": 5.25}), flush=True)
"""
ECHOES: Final = f"""{STARTS}
for line in sys.stdin:
    answer = {{"exit_status": 0, "output": " ".join(json.loads(line)), "errors": ""}}
    print(json.dumps(answer), flush=True)
"""
HAS_A_CHILD: Final = f"""{STARTS}
import subprocess
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(json.dumps({{"exit_status": 0, "output": str(child.pid), "errors": ""}}), flush=True)
sys.stdin.read()
"""
SAYS_WHY: Final = "import sys; sys.exit('it is cold\\nSpark does not start: it needs Java')"


def an_analyst(folder: Path, script: str) -> AnalystProcess:
    return AnalystProcess(folder / "spark.log", dict(os.environ), [sys.executable, "-c", script])


def test_an_analyst_says_what_it_started_and_answers_questions(tmp_path: Path) -> None:
    # Given
    with an_analyst(tmp_path, ECHOES) as analyst:
        started = analyst.wait_until_started()

        # When
        answers = [analyst.ask(["verify", "-b", "there"]), analyst.ask(["throughput"])]

    # Then
    assert started == Started("4.3.0", 5.25)
    assert answers == [Answer(0, "verify -b there", ""), Answer(0, "throughput", "")]


def test_an_analyst_that_cannot_start_fails_with_the_last_line_it_said(tmp_path: Path) -> None:
    # Given
    analyst = an_analyst(tmp_path, SAYS_WHY)

    # When
    with analyst, pytest.raises(AnalystFailed) as failure:
        analyst.wait_until_started()

    # Then
    assert str(failure.value) == "Spark does not start: it needs Java"


def test_an_analyst_that_dies_fails_the_question(tmp_path: Path) -> None:
    # Given
    with an_analyst(tmp_path, STARTS) as analyst:
        analyst.wait_until_started()

        # When
        with pytest.raises(AnalystFailed) as failure:
            analyst.ask(["verify"])

    # Then
    assert str(failure.value) == "kproxy replay verify did not answer: it said nothing"


def test_what_an_analyst_started_ends_with_it(tmp_path: Path) -> None:
    # Given
    with an_analyst(tmp_path, HAS_A_CHILD) as analyst:
        analyst.wait_until_started()
        child = psutil.Process(int(analyst.ask(["verify"]).output))

        # When
        analyst.stop()

    # Then
    assert not child.is_running()
