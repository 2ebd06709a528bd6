"""What a job is doing, for whoever waits for it: a line that changes on a terminal, a line now and then elsewhere."""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

TICK_S: Final = 0.5
QUIET_S: Final = 1.0
"""A job that is done by then shows nothing on a terminal."""
FIRST_LINE_S: Final = 10.0
"""When a job is late that nobody watches; the next line comes when it has taken twice as long, and so on."""

_LINE_START: Final = "\r\x1b[K"
"""Back to the beginning of the line, and nothing on it."""


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """The tasks of what Spark is computing now: done, and all that there are so far."""

    done: int
    total: int


class Progress:
    """Tells what a job called `name` is doing, from the beginning of the `with` block to `end`.

    Args:
        write: takes text for standard error.
        is_terminal: whether somebody watches there.
        now_s: monotonic.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[str], None],
        *,
        is_terminal: bool,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._write = write
        self._is_terminal = is_terminal
        self._now_s = now_s
        self._began_s = now_s()
        self._next_line_s = FIRST_LINE_S
        self._phase = ""
        self._tasks: Callable[[], TaskCounts | None] = lambda: None
        self._is_shown = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def begin(self, phase: str, tasks: Callable[[], TaskCounts | None] | None = None) -> None:
        """Say from now on that the job is at `phase`. `tasks` counts Spark's; None when there are none to speak of."""
        self._phase = phase
        if tasks is not None:
            self._tasks = tasks

    def say(self, text: str) -> None:
        """Print a line for people, and what the job is doing below it again."""
        with self._lock:
            self._clear()
            self._write(f"{text}\n")

    def end(self) -> None:
        """Say nothing more; what was shown on a terminal is gone. Ending twice does nothing."""
        self._ended.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            self._clear()

    def tick(self) -> None:
        """Show what there is to show by now."""
        elapsed_s = self._now_s() - self._began_s
        if self._is_terminal:
            if elapsed_s >= QUIET_S:
                self._show(self._text(elapsed_s))
        elif elapsed_s >= self._next_line_s:
            self._next_line_s = 2 * elapsed_s
            self.say(self._text(elapsed_s))

    def _run(self) -> None:
        while not self._ended.wait(TICK_S):
            self.tick()

    def _text(self, elapsed_s: float) -> str:
        counts = self._tasks()
        tasks = "" if counts is None else f", {counts.done} of {counts.total} tasks"
        return f"{self._name}: {self._phase}{tasks} ({elapsed_s:.0f} s)"

    def _show(self, text: str) -> None:
        with self._lock:
            if not self._ended.is_set():
                self._write(_LINE_START + text[: shutil.get_terminal_size().columns - 1])
                self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            self._write(_LINE_START)
            self._is_shown = False
