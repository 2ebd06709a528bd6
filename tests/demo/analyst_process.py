"""Spark in a process of its own, `analyst`, which answers one question after another."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, Self

import psutil

from tests.demo.answers import Answer, Started
from tests.demo.failures import AnalystFailed
from tests.demo.kproxy_process import clean_environment
from tests.real_kafka import prerequisites, processes
from tests.real_kafka.paths import PROJECT_ROOT

COMMAND: Final = (sys.executable, "-m", "tests.demo.analyst")
NO_START: Final = "Spark does not start"
START_TIMEOUT_SECONDS: Final = 120.0
ANSWER_TIMEOUT_SECONDS: Final = 180.0
STOP_GRACE_SECONDS: Final = 5.0
READ_BYTES: Final = 65_536
SETTINGS_OF_OTHERS: Final = ("SPARK_", "PYSPARK_")


def spark_environment() -> dict[str, str]:
    """Return the environment without somebody's settings for a Spark of theirs, and with Kafka's Java.

    Raises `MissingPrerequisite`.
    """
    kept = {
        name: value for name, value in clean_environment().items() if not name.startswith(SETTINGS_OF_OTHERS)
    }
    return kept | {"JAVA_HOME": str(prerequisites.java().executable.resolve().parents[1])}


class AnalystProcess:
    """An analyst that starts at once and logs to `log`.

    It is gone after `with`, however it is left, and when this Python process ends; and so is Spark's JVM.
    """

    def __init__(self, log: Path, environment: Mapping[str, str], command: Sequence[str] = COMMAND) -> None:
        """`environment` is `spark_environment()`; `command` is followed by the monotonic clock's time."""
        self._log = log
        self._unread = b""
        with log.open("wb") as errors:
            self._process = processes.spawn(
                [*command, str(time.monotonic())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                folder=PROJECT_ROOT,
                environment=environment,
            )

    def wait_until_started(self) -> Started:
        """Return when Spark is there. Raises `AnalystFailed` if it does not start in time, or at all."""
        return Started(**self._told(NO_START, START_TIMEOUT_SECONDS))

    def ask(self, arguments: Sequence[str]) -> Answer:
        """Return what `kproxy replay ARGUMENT…` came to. Raises `AnalystFailed` without an answer in time."""
        with suppress(BrokenPipeError):
            os.write(_stream(self._process.stdin).fileno(), f"{json.dumps(arguments)}\n".encode())
        return Answer(**self._told(f"kproxy replay {arguments[0]} did not answer", ANSWER_TIMEOUT_SECONDS))

    def stop(self) -> None:
        """End Spark and all that it started. May be called again."""
        if self._process.returncode is not None:
            # Its process id may be somebody else's by now.
            return
        family = self._family()
        _signal_group(self._process.pid, signal.SIGTERM)
        processes.reap(self._process, grace_seconds=STOP_GRACE_SECONDS)
        _, stubborn = psutil.wait_procs(family, timeout=STOP_GRACE_SECONDS)
        for process in stubborn:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(stubborn, timeout=STOP_GRACE_SECONDS)
        _stream(self._process.stdin).close()
        _stream(self._process.stdout).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _family(self) -> list[psutil.Process]:
        """Return what it started, and what these did: Spark's JVM and the Pythons that work for it."""
        try:
            family: list[psutil.Process] = psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return family

    def _told(self, problem: str, timeout_seconds: float) -> Mapping[str, Any]:
        line = self._line(problem, timeout_seconds)
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def _line(self, problem: str, timeout_seconds: float) -> bytes:
        output = _stream(self._process.stdout).fileno()
        deadline = time.monotonic() + timeout_seconds
        while b"\n" not in self._unread:
            if not select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise AnalystFailed(f"{problem}: nothing came in {timeout_seconds:.0f} s")
            text = os.read(output, READ_BYTES)
            if not text:
                raise AnalystFailed(f"{problem}: {self._last_words()}")
            self._unread += text
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return lines[-1].removeprefix(f"{NO_START}: ") if lines else "it said nothing"


def _signal_group(process_id: int, number: signal.Signals) -> None:
    # Nothing is left of the group when it has ended by itself.
    with suppress(ProcessLookupError):
        os.killpg(process_id, number)


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
