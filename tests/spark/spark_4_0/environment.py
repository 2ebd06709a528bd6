"""Makes the virtual environment and fetches the jars, once; a stamp that is written last says that all is there."""

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.kafka import prerequisites
from tests.kafka.file_lock import file_lock
from tests.kafka.paths import PROJECT_ROOT
from tests.kafka.progress import progress

_HERE: Final = Path(__file__).parent
_FOLDER: Final = PROJECT_ROOT / "build" / "spark-4.0.0"
_PINS: Final = (_HERE / "pom.xml", _HERE / "requirements.txt", PROJECT_ROOT / "constraints.txt")
_PARTS: Final = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
"""The jars that PySpark does not bring along."""


@dataclass(frozen=True, slots=True)
class Spark40:
    """An interpreter with PySpark 4.0.0, and the jars that it needs to read Kafka."""

    python: Path
    jars: Sequence[Path]

    @property
    def submit_arguments(self) -> str:
        """What PYSPARK_SUBMIT_ARGS has to be, for a session on two cores with the jars."""
        return f"--master local[2] --jars {','.join(map(str, self.jars))} pyspark-shell"


def spark_4_0() -> Spark40:
    """Return the environment, made now if it is not there whole. Raises CalledProcessError, MissingPrerequisite."""
    stamp = _FOLDER / "whole"
    pins = "\n".join(path.read_text() for path in _PINS)
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with progress() as report:
        waiting = functools.partial(report, "waiting for another process that fetches PySpark 4.0.0")
        with file_lock(_FOLDER / "fetch.lock", while_waiting=waiting):
            if not stamp.is_file() or stamp.read_text() != pins:
                report("fetching PySpark 4.0.0 (450 MB) and Spark's Kafka source")
                _make_environment()
                _fetch_jars()
                stamp.write_text(pins)
    jars = sorted(path for part in _PARTS for path in (_FOLDER / "jars").glob(f"{part}*.jar"))
    return Spark40(_FOLDER / "venv" / "bin" / "python", jars)


def _make_environment() -> None:
    """Install what the requirements name, as pinned: of PySpark, the requirements have the last word."""
    constraints = _FOLDER / "constraints.txt"
    pins = (PROJECT_ROOT / "constraints.txt").read_text().splitlines()
    constraints.write_text("\n".join(pin for pin in pins if not pin.startswith("pyspark==")))
    shutil.rmtree(_FOLDER / "venv", ignore_errors=True)
    _run(sys.executable, "-m", "venv", _FOLDER / "venv")
    pip = (_FOLDER / "venv" / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    _run(*pip, "install", "--constraint", constraints, "--requirement", _HERE / "requirements.txt")


def _fetch_jars() -> None:
    shutil.rmtree(_FOLDER / "jars", ignore_errors=True)
    maven = (prerequisites.maven(), "--batch-mode", "--quiet", "--file", _HERE / "pom.xml")
    _run(*maven, f"-DoutputDirectory={_FOLDER / 'jars'}", "dependency:copy-dependencies")


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
