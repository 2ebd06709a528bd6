"""The folder of one running cluster: its data, its settings and its logs, removed when it ends.

Logs of a failed cluster are moved aside first. A folder whose Python process was killed is found by its lock,
which the kernel has let go of, and cleared at the next start of any cluster, its logs kept.
"""

import itertools
import os
import shutil
import time
from pathlib import Path
from typing import Final, Self

from tests.real_kafka.file_lock import file_lock, lock_at_once
from tests.real_kafka.paths import kept_logs_folder, runs_folder

LOCK_NAME: Final = "lock"
LOGS_NAME: Final = "logs"
KEPT_RUNS: Final = 20
"""How many failed runs' logs are kept; the oldest go first."""

_run_numbers: Final = itertools.count(1)


class RunFolder:
    """Owns `build/kafka-runs/NAME/` from `create` until `remove`."""

    __slots__ = ("_lock", "path")

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self.path = path
        self._lock = (path / LOCK_NAME).open("w")
        lock_at_once(self._lock)
        self.logs.mkdir()

    @classmethod
    def create(cls, label: str) -> Self:
        """A new folder that begins with `label`; clears what killed processes left behind."""
        started = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name = f"{label}-{started}-{os.getpid()}-{next(_run_numbers)}"
        # Nobody may clear a folder between its creation and its locking.
        with file_lock(runs_folder().with_suffix(".lock"), while_waiting=_keep_waiting):
            _remove_abandoned_runs()
            return cls(runs_folder() / name)

    @property
    def logs(self) -> Path:
        """The folder of the nodes' logs and settings."""
        return self.path / LOGS_NAME

    def remove(self) -> None:
        """Remove everything. May be called again."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def keep_logs(self) -> Path:
        """Copy the logs to where failed runs are kept; the folder they are in now."""
        return _keep_logs(self.path)


def _keep_waiting() -> None:
    """Clearing takes moments: there is nothing to tell anybody."""


def _remove_abandoned_runs() -> None:
    for lock_path in runs_folder().glob(f"*/{LOCK_NAME}"):
        with lock_path.open() as lock:
            if lock_at_once(lock):
                _keep_logs(lock_path.parent)
                shutil.rmtree(lock_path.parent, ignore_errors=True)


def _keep_logs(run: Path) -> Path:
    kept = kept_logs_folder() / run.name
    if (run / LOGS_NAME).is_dir():
        shutil.copytree(run / LOGS_NAME, kept, dirs_exist_ok=True)
        kept.touch()
        for old in sorted(kept_logs_folder().iterdir(), key=_changed_at)[:-KEPT_RUNS]:
            shutil.rmtree(old, ignore_errors=True)
    return kept


def _changed_at(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
