"""A standalone cluster of Spark on loopback: a master and workers, each a process of its own, and so are executors."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.real_kafka import processes
from tests.real_kafka.ports import LOOPBACK, ReservedPort
from tests.spark.spark_4_0.environment import Spark40

_START_TIMEOUT_S: Final = 60.0
_POLL_S: Final = 0.2
_STOP_GRACE_S: Final = 10.0
_NOT_INHERITED: Final = ("PYTHON", "PYSPARK", "SPARK", "KPROXY", "VIRTUAL_ENV")


class StandaloneCluster:
    """A master and workers of one core each, started by `with` and gone after it; their executors as well.

    Nothing of the project's environment reaches them: what their Python is to know has to be sent to them.
    """

    def __init__(self, spark: Spark40, folder: Path, *, workers: int = 2) -> None:
        """Describe a cluster whose logs and working folders stand in `folder`; nothing is started."""
        self.worker_folders: Final = [folder / f"worker-{number}" for number in range(workers)]
        self._spark = spark
        self._folder = folder
        self._port, self._page = ReservedPort(), ReservedPort()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """What `--master` has to be."""
        return f"spark://{self._port.address}"

    def __enter__(self) -> Self:
        try:
            master = ("master.Master", "--host", LOOPBACK, "--port", self._port.number)
            self._start("master", *master, "--webui-port", self._page.number)
            self._wait_for_workers(0)
            for folder in self.worker_folders:
                worker = (
                    "worker.Worker",
                    "--host",
                    LOOPBACK,
                    "--webui-port",
                    0,
                    "--cores",
                    1,
                    "--memory",
                    "1g",
                )
                self._start(folder.name, *worker, "--work-dir", folder, self.master)
            self._wait_for_workers(len(self.worker_folders))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        _error_class: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._stop()

    @property
    def process_ids(self) -> list[int]:
        """The ids of the master's process and of the workers'."""
        return [process.pid for process in self._processes if process.poll() is None]

    def page(self) -> Mapping[str, Any]:
        """Return what the master knows of workers and applications. Raises OSError when it does not answer."""
        with urllib.request.urlopen(f"http://{self._page.address}/json/", timeout=5) as answer:
            known = json.load(answer)
        assert isinstance(known, dict)
        return known

    def _start(self, name: str, daemon: str, *arguments: str | int | Path) -> None:
        command = [self._spark.home / "bin" / "spark-class", f"org.apache.spark.deploy.{daemon}", *arguments]
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                processes.spawn(
                    [str(part) for part in command],
                    stdout=log,
                    stderr=log,
                    folder=self._folder,
                    environment=clean_environment(self._spark) | {"SPARK_DAEMON_MEMORY": "256m"},
                )
            )

    def _wait_for_workers(self, count: int) -> None:
        give_up_at = time.monotonic() + _START_TIMEOUT_S
        while not self._has_workers(count):
            if time.monotonic() > give_up_at or len(self.process_ids) < len(self._processes):
                logs = "\n".join(log.read_text() for log in self._folder.glob("*.log"))
                raise RuntimeError(f"Spark's cluster does not start\n{logs[-4000:]}")
            time.sleep(_POLL_S)

    def _has_workers(self, count: int) -> bool:
        try:
            return bool(self.page()["aliveworkers"] == count)
        except OSError:
            return False

    def _stop(self) -> None:
        for process in reversed(self._processes):
            processes.end(process, grace_seconds=_STOP_GRACE_S)
        self._processes.clear()
        self._port.release()
        self._page.release()


def clean_environment(spark: Spark40) -> dict[str, str]:
    """Return the environment of this process without all that would lead a Python or another Spark to this project."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
    return inherited | {"SPARK_HOME": str(spark.home), "SPARK_LOCAL_IP": LOOPBACK}


def submitted(
    spark: Spark40, master: str, program: Path, arguments: Sequence[str | Path], options: Sequence[str | Path]
) -> list[str]:
    """Return the command that submits a program of Python to a cluster of two cores."""
    memory = ("--executor-memory", "512m", "--driver-memory", "512m", "--executor-cores", "1")
    command = [
        spark.home / "bin" / "spark-submit",
        "--master",
        master,
        *memory,
        *options,
        program,
        *arguments,
    ]
    return [str(part) for part in command]
