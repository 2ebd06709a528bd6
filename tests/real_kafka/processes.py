"""Starts child processes that cannot outlive the Python process that started them, however it ends."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Final, TypeAlias

from tests.real_kafka.paths import HARNESS_FOLDER

LAUNCHER: Final = HARNESS_FOLDER / "die_with_parent.py"

Stream: TypeAlias = int | IO[bytes]


def spawn(
    command: Sequence[str | Path],
    *,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = subprocess.DEVNULL,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command`, named by an absolute path, as a child that is killed when this Python process ends.

    The child has a session of its own: Ctrl-C at a terminal reaches Python only, which then decides in which
    order its children stop. `pid` is the command's own.

    The death signal belongs to the thread that forks, so one thread that never ends forks for all. A pre-exec
    function would do without the launcher, but is unsafe in a process that has threads.
    """
    launched = [sys.executable, "-I", "-S", LAUNCHER, str(os.getpid()), *command]

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            launched,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )

    return _forking_thread(os.getpid()).submit(start).result()


def end(process: subprocess.Popen[bytes], *, grace_seconds: float) -> bool:
    """Ask with SIGTERM, insist with SIGKILL after `grace_seconds`; true if asking was enough."""
    if process.poll() is not None:
        return True
    process.terminate()
    return reap(process, grace_seconds=grace_seconds)


def reap(process: subprocess.Popen[bytes], *, grace_seconds: float) -> bool:
    """Wait for a process that was asked to end, kill it after `grace_seconds`; true if it ended by itself."""
    try:
        process.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        kill(process)
        return False
    return True


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill at once; returns when the process is gone, its ports and files with it."""
    process.send_signal(signal.SIGKILL)
    process.wait()


@functools.cache
def _forking_thread(_process_id: int) -> ThreadPoolExecutor:
    # Keyed by process: a fork of this process has no such thread and makes its own.
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="forking")
