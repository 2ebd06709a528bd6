"""Runs jobs on PySpark 4.0.0, or on the Spark of the tests, each in a process of its own as a user's is."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.real_kafka.paths import PROJECT_ROOT
from tests.spark.spark_4_0.environment import Spark40

TIMEOUT_S: Final = 600


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. A job has its result on standard output, and all else on standard error."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The result of a job that was given `-o json`."""
        rows = json.loads(self.stdout)
        assert isinstance(rows, list)
        return rows

    @property
    def summary(self) -> Mapping[str, Any]:
        """The closing line of a job."""
        summary = json.loads(self.stderr.splitlines()[-1])
        assert isinstance(summary, dict), self.stderr
        return summary

    @property
    def errors(self) -> Sequence[str]:
        """The lines that say why a job failed."""
        return [line for line in self.stderr.splitlines() if line.startswith("Error: ")]


def environment_of(spark: Spark40) -> dict[str, str]:
    """Return the environment of a process that finds this Spark, its jars, and the project as it is here."""
    return os.environ | {
        "PYSPARK_PYTHON": str(spark.python),
        "PYSPARK_DRIVER_PYTHON": str(spark.python),
        "PYSPARK_SUBMIT_ARGS": spark.submit_arguments,
        "PYTHONPATH": str(PROJECT_ROOT),
    }


def run_python(spark: Spark40, *arguments: str | Path) -> Ended:
    """Run the interpreter of PySpark 4.0.0."""
    return run([spark.python, *arguments], environment_of(spark))


def replay(spark: Spark40, job: str, *arguments: str | Path) -> Ended:
    """Run a job on PySpark 4.0.0."""
    return run_python(spark, "-m", "kproxy.jobs", job, *arguments)


def kproxy(*arguments: str | Path) -> Ended:
    """Run a command of this environment's kproxy; its jobs run on the Spark that is installed here."""
    return run([sys.executable, "-m", "kproxy", *arguments], os.environ | {"PYTHONPATH": str(PROJECT_ROOT)})


def run(
    command: Sequence[str | Path], environment: Mapping[str, str], *, folder: Path | None = None
) -> Ended:
    """Run a command to its end, with nothing on its standard input. Raises TimeoutExpired after ten minutes."""
    done = subprocess.run(
        [str(part) for part in command],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
