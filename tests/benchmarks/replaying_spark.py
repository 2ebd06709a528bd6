"""Spark sessions in processes of their own, of any version, that time `kproxy replay state-at`."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import psutil

from tests.benchmarks.process_accounting import busy_seconds_of_machine, cpu_seconds
from tests.benchmarks.replay_job import Replayed
from tests.benchmarks.replay_logs import Log
from tests.real_kafka.child import Child
from tests.spark.spark_4_0.environment import Spark40

START_TIMEOUT_SECONDS: Final = 120.0
JOB_TIMEOUT_SECONDS: Final = 3_600.0
LAST_WORDS: Final = 2_000


class JobBroke(RuntimeError):
    """A job failed, or did not read the records that there are; the message has what it said."""


@dataclass(frozen=True, slots=True)
class TimedReplay:
    """What replaying a log took, and how many cores others used meanwhile."""

    records: int
    seconds: float
    cpu_seconds: float
    """Of Spark, of its workers, and of those who hold the log."""
    cores_of_others: float


class ReplayingSpark(Child):
    """A local Spark on all cores, with the settings that `kproxy replay` gives it."""

    def __init__(self, python: Path, submit_arguments: str, results: Path) -> None:
        """Start it. What jobs find goes below `results`, which is not removed."""
        environment = {
            "PYSPARK_PYTHON": str(python),
            "PYSPARK_DRIVER_PYTHON": str(python),
            "PYSPARK_SUBMIT_ARGS": submit_arguments,
        }
        settings = [f"{name}={value}" for name, value in environment.items()]
        program = [str(python), "-W", "ignore", "-m", "tests.benchmarks.replay_process"]
        super().__init__("Spark", ["/usr/bin/env", *settings, *program])
        self._results = (results / f"{number}.json" for number in count())
        self.version = self.next_line(timeout_seconds=START_TIMEOUT_SECONDS)
        """Of Spark."""

    def state_at(self, log: Log) -> TimedReplay:
        """Replay a whole log. Raises `JobBroke`, and what `Child` raises."""
        out = next(self._results)
        before, began = self._cpu_seconds(log.process_ids), busy_seconds_of_machine()
        replayed = self._run(["state-at", *log.options, "--no-index", "-o", "json", "--out", str(out)])
        after, busy = self._cpu_seconds(log.process_ids), busy_seconds_of_machine() - began
        _require_all(replayed, log.records)
        out.unlink()
        own = sum(after[number] - before.get(number, 0.0) for number in after)
        return TimedReplay(log.records, replayed.seconds, own, max(busy - own, 0.0) / replayed.seconds)

    def _run(self, arguments: Sequence[str]) -> Replayed:
        self.send_line(json.dumps(arguments))
        return Replayed(**json.loads(self.next_line(timeout_seconds=JOB_TIMEOUT_SECONDS)))

    def _cpu_seconds(self, others: Sequence[int]) -> Mapping[int, float]:
        """What each process that has a part in it has used so far."""
        tree = psutil.Process(self.process_id).children(recursive=True)
        known = {}
        for number in (os.getpid(), self.process_id, *others, *(each.pid for each in tree)):
            # A worker of Python that just ended has used next to nothing.
            try:
                known[number] = cpu_seconds(number)
            except OSError:
                continue
        return known


def newest_spark(results: Path) -> ReplayingSpark:
    """Start the Spark that kproxy is installed with."""
    return ReplayingSpark(Path(sys.executable), "pyspark-shell", results)


def spark_with_jar(spark: Spark40, results: Path) -> ReplayingSpark:
    """Start the one Spark whose own Kafka source can be had whole."""
    return ReplayingSpark(spark.python, spark.submit_arguments, results)


def _require_all(replayed: Replayed, records: int) -> None:
    if replayed.exit_status:
        raise JobBroke(
            f"state-at ended with exit status {replayed.exit_status}: {replayed.said[-LAST_WORDS:]}"
        )
    summary = json.loads(replayed.said.splitlines()[-1])
    if summary["records"] != records:
        raise JobBroke(f"state-at folded {summary['records']} of {records} records")
