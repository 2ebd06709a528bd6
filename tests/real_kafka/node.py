"""One `java` process of a cluster: a broker or ZooKeeper."""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.real_kafka import processes
from tests.real_kafka.java_command import ClassData
from tests.real_kafka.ports import ReservedPort

READY_POLL_SECONDS: Final = 0.02
RECORDING_GRACE_SECONDS: Final = 60.0
"""What a node may take to end that writes its class data then."""
STOP_SECONDS: Final = 10.0
TAIL_LINES: Final = 40


class NodeFailed(RuntimeError):
    """A node died or was not ready in time; the message ends with the last lines of its log."""


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What one node is: its command, where it logs, and how one sees that it is ready."""

    name: str
    command: Callable[[list[str]], list[str | Path]]
    """The command line, given the JVM options of its class data."""
    log: Path
    port: ReservedPort
    ready_text: str
    class_data: ClassData
    may_record_class_data: bool


class Node:
    """Starts, watches and ends the process of a `NodePlan`, any number of times."""

    __slots__ = ("_log_start", "_plan", "_process", "_records_class_data")

    def __init__(self, plan: NodePlan) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None
        self._records_class_data = False
        self._log_start = 0

    @property
    def name(self) -> str:
        return self._plan.name

    @property
    def log(self) -> Path:
        """The log of every start of this node, one after the other."""
        return self._plan.log

    @property
    def process_id(self) -> int:
        """The id of the running `java` process."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def has_died(self) -> bool:
        """Whether the node ended though nobody asked it to."""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> None:
        """Start the process and return at once."""
        plan = self._plan
        self._records_class_data = plan.may_record_class_data and not plan.class_data.is_recorded
        options = plan.class_data.options(records=self._records_class_data)
        self._log_start = plan.log.stat().st_size if plan.log.exists() else 0
        with plan.log.open("ab") as log:
            self._process = processes.spawn(plan.command(options), stdout=log, stderr=subprocess.STDOUT)

    def wait_until_ready(self, deadline: float) -> None:
        """Return when the node says that it has started and its port accepts.

        `deadline` is in seconds of the monotonic clock. Raises `NodeFailed` if it passes or the node dies.
        """
        while not self._is_ready():
            self._raise_if_failed(deadline)
            time.sleep(READY_POLL_SECONDS)

    def ask_to_end(self) -> None:
        """Send SIGTERM, if it runs; a paused node goes on, so as to notice."""
        if self.is_running:
            self._running().terminate()
            self.resume()

    def finish(self, *, grace_seconds: float) -> None:
        """Wait for a node that was asked to end; kill it when `grace_seconds` have passed.

        A node that records class data gets a minute: it does so only once.
        """
        if self._process is None:
            return
        recording_grace = RECORDING_GRACE_SECONDS if self._records_class_data else 0
        processes.reap(self._process, grace_seconds=max(grace_seconds, recording_grace))
        self._settle_class_data(self._process.returncode)
        self._process = None

    def kill(self) -> None:
        """SIGKILL, as a crash would; returns when the process is gone."""
        processes.kill(self._running())
        self._settle_class_data(self._running().returncode)
        self._process = None

    def pause(self) -> None:
        """SIGSTOP: from now on the node keeps its connections and answers nothing."""
        running = self._running()
        running.send_signal(signal.SIGSTOP)
        _await_stop(running.pid)

    def resume(self) -> None:
        """SIGCONT: the node goes on after a `pause`."""
        self._running().send_signal(signal.SIGCONT)

    def failure(self, problem: str) -> NodeFailed:
        """An error that says `problem` and shows the end of the log."""
        tail = "\n".join(self._log_of_this_start().splitlines()[-TAIL_LINES:])
        return NodeFailed(f"{self.name} {problem}; the end of {self.log}:\n{tail}")

    def _is_ready(self) -> bool:
        return self._plan.ready_text in self._log_of_this_start() and self._plan.port.accepts_connections()

    def _raise_if_failed(self, deadline: float) -> None:
        status = self._running().poll()
        if status is not None:
            raise self.failure(f"died with exit status {status} before it was ready")
        if time.monotonic() > deadline:
            raise self.failure("was not ready in time")

    def _log_of_this_start(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._process

    def _settle_class_data(self, status: int) -> None:
        # A JVM that ends on SIGTERM reports 128 + 15; only such a clean end leaves a whole recording.
        if status in {0, 128 + signal.SIGTERM}:
            self._plan.class_data.keep()
        else:
            self._plan.class_data.discard()


def _await_stop(process_id: int) -> None:
    """Return when every thread has stopped: the signal is on its way to them when `kill` returns (proc(5))."""
    deadline = time.monotonic() + STOP_SECONDS
    threads = Path(f"/proc/{process_id}/task")
    while not all(_state_of(thread) in "TtZX" for thread in threads.iterdir()):
        if time.monotonic() > deadline:
            raise NodeFailed(f"process {process_id} did not stop within {STOP_SECONDS:g} s")
        time.sleep(READY_POLL_SECONDS)


def _state_of(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
