"""Makes the virtual environment and fetches the jars, once."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_kafka.paths import PROJECT_ROOT
from tests.spark.fetching import fetch_jars, fetched

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
    def home(self) -> Path:
        """What SPARK_HOME has to be: the installed PySpark is a whole Spark."""
        (found,) = self.python.parents[1].glob("lib/python*/site-packages/pyspark")
        return found

    @property
    def submit_arguments(self) -> str:
        """What PYSPARK_SUBMIT_ARGS has to be, for a session on two cores with the jars."""
        return f"--master local[2] --jars {','.join(map(str, self.jars))} pyspark-shell"


def spark_4_0() -> Spark40:
    """Return the environment, made now if it is not there whole. Raises CalledProcessError, MissingPrerequisite."""
    fetched(_FOLDER, _PINS, "PySpark 4.0.0 (450 MB) and Spark's Kafka source", _make)
    jars = sorted(path for part in _PARTS for path in (_FOLDER / "jars").glob(f"{part}*.jar"))
    return Spark40(_FOLDER / "venv" / "bin" / "python", jars)


def _make() -> None:
    _make_environment()
    fetch_jars(_HERE / "pom.xml", _FOLDER / "jars")


def _make_environment() -> None:
    """Install what the requirements name, as pinned: of PySpark, the requirements have the last word."""
    constraints = _FOLDER / "constraints.txt"
    pins = (PROJECT_ROOT / "constraints.txt").read_text().splitlines()
    constraints.write_text("\n".join(pin for pin in pins if not pin.startswith("pyspark==")))
    shutil.rmtree(_FOLDER / "venv", ignore_errors=True)
    _run(sys.executable, "-m", "venv", _FOLDER / "venv")
    pip = (_FOLDER / "venv" / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
    _run(*pip, "install", "--constraint", constraints, "--requirement", _HERE / "requirements.txt")


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)
