"""`make demo` as a newcomer runs it, with fewer records."""

import os
import signal
import subprocess
import sys
from typing import Final

import psutil
import pytest

from tests.real_kafka import processes
from tests.real_kafka.paths import PROJECT_ROOT

COMMAND: Final = [sys.executable, "-m", "tests.demo"]
ENDS_WITHIN_SECONDS: Final = 300
STOPS_WITHIN_SECONDS: Final = 90


def environment(**settings: str) -> dict[str, str]:
    return {**os.environ, "DEMO_RECORDS": "300", **settings}


@pytest.mark.soak  # continuous integration runs `make demo` itself, and reads how it ends
def test_the_demo_ends_with_sums_that_add_up() -> None:
    # When
    demo = subprocess.run(
        COMMAND,
        cwd=PROJECT_ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_SECONDS,
        check=False,
    )

    # Then
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "  ✓ 300 produced = " in demo.stdout
    assert "  ✓ kproxy was killed with " in demo.stdout
    assert "the state log says of all 300 records that they are finished" in demo.stdout
    assert "a plain consumer read 300 records from the same port" in demo.stdout
    assert "the running kproxy holds of 2 share-partitions what the state log says" in demo.stdout
    assert "  ✓ Spark counts of each member what it says itself" in demo.stdout
    assert "The sums add up" in demo.stdout


def test_the_demo_leaves_no_process_behind_when_it_is_interrupted() -> None:
    # Given
    demo = processes.spawn(COMMAND, stdout=subprocess.PIPE, folder=PROJECT_ROOT, environment=environment())
    assert demo.stdout is not None
    with demo.stdout:
        next(line for line in demo.stdout if b"first record accepted" in line)
        children = psutil.Process(demo.pid).children(recursive=True)

        # When
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()
        status = demo.wait(STOPS_WITHIN_SECONDS)

    # Then
    assert status == 128 + signal.SIGINT
    # Kafka, kproxy, three members, the producer, the analyst and what it starts Spark with.
    assert len(children) >= 7
    assert psutil.wait_procs(children, timeout=0)[1] == []
