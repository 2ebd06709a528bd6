"""The processes that act in the demo: starts them, collects what they tell, and leaves none behind."""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Self

from tests.demo.events import Event, Finished, parse
from tests.demo.failures import PerformerFailed
from tests.real_kafka import processes
from tests.real_kafka.paths import PROJECT_ROOT

READ_BYTES: Final = 65_536
END_GRACE_SECONDS: Final = 5.0
SHOWN_LOG_LINES: Final = 8


@dataclass(slots=True)
class Performer:
    """One process, its last unfinished line of output, and whether it said that it did all it had to."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    unfinished_line: bytes = b""
    has_finished: bool = field(default=False)
    is_told_to_go_on: bool = False


class Crew:
    """Processes by name. They write JSON lines (`events`) and log to `NAME.log` in the folder given.

    All of them are gone after `with`, however it is left, and when this Python process ends.
    """

    def __init__(self, log_folder: Path) -> None:
        self._log_folder = log_folder
        self._selector = selectors.DefaultSelector()
        self._performers: list[Performer] = []

    def start(self, name: str, module: str, arguments: Sequence[str]) -> None:
        """Start `python -m MODULE ARGUMENT…` under a name of its own."""
        log = self._log_folder / f"{name}.log"
        with log.open("wb") as errors:
            process = processes.spawn(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                folder=PROJECT_ROOT,
            )
        performer = Performer(name, process, log)
        self._performers.append(performer)
        self._selector.register(_output(process), selectors.EVENT_READ, performer)

    @property
    def is_at_work(self) -> bool:
        """Whether somebody may still tell something."""
        return bool(self._selector.get_map())

    @property
    def process_ids(self) -> Mapping[str, int]:
        """The process id of each, by its name."""
        return {performer.name: performer.process.pid for performer in self._performers}

    def tell_to_go_on(self, name: str) -> None:
        """Let one read a line of its standard input. May be called again, and does nothing then."""
        for performer in self._performers:
            if performer.name == name and not performer.is_told_to_go_on:
                performer.is_told_to_go_on = True
                with suppress(BrokenPipeError):
                    os.write(_input(performer.process).fileno(), b"\n")

    def ask_to_finish(self) -> None:
        """Let everybody read the end of their standard input, which asks them to come to an end."""
        for performer in self._performers:
            _input(performer.process).close()

    def news(self, timeout_seconds: float) -> Iterator[tuple[str, Event]]:
        """What was told since the last call, by whom; waits for it at most `timeout_seconds`.

        Raises `PerformerFailed` when a process ends without having said that it is finished.
        """
        for key, _ in self._selector.select(timeout_seconds):
            performer: Performer = key.data
            text = os.read(key.fd, READ_BYTES)
            if not text:
                self._selector.unregister(key.fileobj)
                _check_the_end(performer)
                continue
            *lines, performer.unfinished_line = (performer.unfinished_line + text).split(b"\n")
            for line in lines:
                event = _event(performer, line)
                performer.has_finished |= isinstance(event, Finished)
                yield performer.name, event

    def stop(self) -> None:
        """End every process that still runs. May be called again."""
        for performer in self._performers:
            performer.process.terminate()
        for performer in self._performers:
            processes.reap(performer.process, grace_seconds=END_GRACE_SECONDS)
            _input(performer.process).close()
            _output(performer.process).close()
        self._performers = []
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _event(performer: Performer, line: bytes) -> Event:
    try:
        return parse(line)
    except (KeyError, json.JSONDecodeError) as error:
        raise PerformerFailed(f"{performer.name} wrote a line that tells nothing: {line[:200]!r}") from error


def _check_the_end(performer: Performer) -> None:
    processes.reap(performer.process, grace_seconds=END_GRACE_SECONDS)
    status = performer.process.returncode
    if performer.has_finished and status == 0:
        return
    last_lines = performer.log.read_text(errors="replace").splitlines()[-SHOWN_LOG_LINES:]
    raise PerformerFailed("\n  ".join([f"{performer.name} ended with status {status}:", *last_lines]))


def _input(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout
