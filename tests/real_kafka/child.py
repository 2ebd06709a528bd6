"""A child process that one talks to in lines: the base of Kafka's tools and of share group members."""

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from tests.real_kafka import processes
from tests.real_kafka.paths import PROJECT_ROOT

STOP_GRACE_SECONDS: Final = 10.0
ERROR_TAIL_CHARACTERS: Final = 4_000


class ChildEnded(RuntimeError):
    """A child ended where a line was expected; the message has its exit status and the end of its errors."""


class ChildTimedOut(RuntimeError):
    """A child did not write or end in time; the message has the end of its errors."""


class Child:
    """A running process with its standard streams: started by the constructor, gone after `stop` or `kill`.

    Its standard output is read as it comes, however late somebody asks for it; its standard error goes to an
    unnamed file. It is killed when this Python process ends.
    """

    def __init__(self, name: str, command: Sequence[str | Path]) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `_close`, with the process
        self._process = processes.spawn(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            folder=PROJECT_ROOT,
        )
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_output, name=f"output of {name}", daemon=True)
        self._reader.start()
        self._errors_at_end = ""

    @property
    def process_id(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def send_line(self, line: str) -> None:
        """Write a line to the standard input; raises `ChildEnded` if nobody reads it any more."""
        try:
            self._input().write(line.encode() + b"\n")
            self._input().flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._ended() from error

    def end_input(self) -> None:
        """Let the child read the end of its standard input."""
        self._input().close()

    def next_line(self, *, timeout_seconds: float) -> str:
        """The next line of its standard output without the line break.

        Raises `ChildEnded` when there will be none, `ChildTimedOut` when there is none in time.
        """
        try:
            line = self._lines.get(timeout=max(0.0, timeout_seconds))
        except queue.Empty:
            raise self._timed_out(f"wrote no line in {timeout_seconds:.1f} s") from None
        if line is None:
            # The end stays the end for whoever asks again.
            self._lines.put(None)
            raise self._ended()
        return line.decode().rstrip("\n")

    def remaining_lines(self, *, timeout_seconds: float) -> list[str]:
        """Every line up to the end of its output; raises `ChildTimedOut` when that does not come in time."""
        deadline = time.monotonic() + timeout_seconds
        lines: list[str] = []
        while True:
            try:
                lines.append(self.next_line(timeout_seconds=deadline - time.monotonic()))
            except ChildEnded:
                return lines

    def wait(self, *, timeout_seconds: float) -> int:
        """Its exit status once it ends by itself; raises `ChildTimedOut` when it does not in time."""
        try:
            return self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            raise self._timed_out(f"did not end in {timeout_seconds:.1f} s") from None

    def errors(self) -> str:
        """What it has written to its standard error so far."""
        if self._errors.closed:
            return self._errors_at_end
        # The child writes at the position of this very file: reading must not move it.
        file = self._errors.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def terminate(self) -> None:
        """Send SIGTERM and return at once."""
        self._process.terminate()

    def pause(self) -> None:
        """SIGSTOP: it keeps its connections and does nothing."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT: it goes on after a `pause`."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it with SIGTERM, after 10 s with SIGKILL, and let go of its streams. May be called again."""
        processes.end(self._process, grace_seconds=STOP_GRACE_SECONDS)
        self._close()

    def kill(self) -> None:
        """SIGKILL: it does not get to say goodbye. Returns when it is gone."""
        processes.kill(self._process)
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self._lines.put(line)
        self._lines.put(None)

    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _close(self) -> None:
        # What was left in the buffer has no reader any more.
        with contextlib.suppress(BrokenPipeError):
            self._input().close()
        self._reader.join()
        if not self._errors.closed:
            self._errors_at_end = self.errors()
            self._errors.close()

    def _ended(self) -> ChildEnded:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_GRACE_SECONDS)
        status = self._process.returncode
        return ChildEnded(f"{self.name} ended its output, exit status {status}: {self._error_tail()}")

    def _timed_out(self, problem: str) -> ChildTimedOut:
        return ChildTimedOut(f"{self.name} {problem}: {self._error_tail()}")

    def _error_tail(self) -> str:
        return self.errors()[-ERROR_TAIL_CHARACTERS:]
