"""`kproxy top` in a pseudo-terminal: keys are heard, and the terminal is left as it was found."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest

from tests.in_memory.inspectable import serving
from tests.unit.cli.test_top import groups
from tests.unit.cli.test_top_columns import ROW

PATIENCE_S = 20.0
LEFT_SCREEN = "\x1b[?1049l"
CURSOR_SHOWN = "\x1b[?25h"


@pytest.fixture(autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """Whoever runs in the background of a shell without a terminal ignores SIGINT, and so do its children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Terminal:
    """A terminal of 100 columns and 30 rows, with `kproxy top` on it."""

    def __init__(self, *arguments: str, environment: dict[str, str] | None = None) -> None:
        self._here, self._there = pty.openpty()
        fcntl.ioctl(self._there, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.found = termios.tcgetattr(self._there)
        self.text = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kproxy", "top", *arguments],
            stdin=self._there,
            stdout=self._there,
            stderr=self._there,
            start_new_session=True,
            env={
                **{name: os.environ[name] for name in os.environ if name != "NO_COLOR"},
                "TERM": "xterm-256color",
                "PYTHONIOENCODING": "utf-8",
                **(environment or {}),
            },
        )

    def until(self, text: str) -> None:
        """Read until `text` stands in what was written since the last time; forget what came before."""
        deadline_s = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < deadline_s, f"{text!r} is not in {self.text!r}"
            self._read()
        self.text = self.text.partition(text)[2]

    def press(self, keys: str) -> None:
        os.write(self._here, keys.encode())

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code, and what was written until then."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, self.text
            self._read()
        while self._read():
            pass
        return self.process.returncode, self.text

    def attributes(self) -> object:
        return termios.tcgetattr(self._there)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._here)
        os.close(self._there)

    def _read(self) -> bool:
        if not select.select([self._here], [], [], 0.1)[0]:
            return False
        self.text += os.read(self._here, 65_536).decode("utf-8", "replace")
        return True


@contextmanager
def on_a_terminal(*arguments: str, environment: dict[str, str] | None = None) -> Iterator[Terminal]:
    with serving(groups().server()) as url:
        terminal = Terminal("--admin-url", url, *arguments, environment=environment)
        try:
            yield terminal
        finally:
            terminal.close()


def test_groups_are_sorted_filtered_opened_and_left_by_keys() -> None:
    with on_a_terminal("--interval", "0.2") as terminal:
        terminal.until("workers")

        # When
        terminal.press("n")
        terminal.until("by name")
        terminal.press("/work\r")
        terminal.until("1 with 'work'")
        terminal.press("\r")
        terminal.until("workers is Stable")
        terminal.until("orders-0")
        terminal.press("\x1b")
        terminal.until("by name")
        terminal.press("q")

        # Then
        assert terminal.ended()[0] == 0


@pytest.mark.parametrize(
    ("how", "exit_code"), [("q", 0), (signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_the_terminal_is_left_as_it_was_found(how: str | signal.Signals, exit_code: int) -> None:
    with on_a_terminal() as terminal:
        terminal.until("workers")

        # When
        if isinstance(how, str):
            terminal.press(how)
        else:
            terminal.process.send_signal(how)
        code, written = terminal.ended()

        # Then
        assert code == exit_code
        assert LEFT_SCREEN in written
        assert CURSOR_SHOWN in written
        assert terminal.attributes() == terminal.found


class _OddAfterOneAnswer(BaseHTTPRequestHandler):
    """Tells of a group once, and then of something that is none."""

    answers: ClassVar[list[dict[str, object]]] = []

    def do_GET(self) -> None:
        body = json.dumps({"items": [self.answers.pop(0) if self.answers else {"odd": True}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_fault_leaves_the_terminal_as_it_was_found() -> None:
    # Given
    _OddAfterOneAnswer.answers = [{**ROW, "groupId": "workers"}]
    server = HTTPServer(("127.0.0.1", 0), _OddAfterOneAnswer)
    Thread(target=server.serve_forever, daemon=True).start()
    terminal = Terminal("--admin-url", f"http://127.0.0.1:{server.server_port}", "--interval", "0.5")
    try:
        terminal.until("workers")

        # When
        code, written = terminal.ended()

        # Then
        assert code == 1
        assert LEFT_SCREEN in written
        assert CURSOR_SHOWN in written
        assert terminal.attributes() == terminal.found
    finally:
        terminal.close()
        server.shutdown()
        server.server_close()


def test_what_a_terminal_cannot_show_ends_nothing() -> None:
    with on_a_terminal(environment={"PYTHONIOENCODING": "ascii:strict"}) as terminal:
        terminal.until("workers")

        # When
        terminal.press("/\u00fc")
        terminal.until("no group has that")
        terminal.press("\x1bq")

        # Then
        assert terminal.ended()[0] == 0


def test_a_group_id_gives_no_orders_to_the_terminal() -> None:
    # Given
    inspectable = groups()
    inspectable.join("mallory", group_id="\x1b]0;owned\x07")
    with serving(inspectable.server()) as url:
        terminal = Terminal("--admin-url", url, "--sort", "name", "--filter", "owned")
        try:
            terminal.until("owned")

            # When
            terminal.press("\r")

            # Then
            terminal.until("looking at \\x1b]0;owned\\x07")
            terminal.press("q")
            assert terminal.ended()[0] == 0
        finally:
            terminal.close()


def test_without_colours_there_are_none() -> None:
    with on_a_terminal(environment={"NO_COLOR": "1"}) as terminal:
        terminal.until("workers")
        terminal.press("\r")
        terminal.until("orders-0")
        terminal.press("q")

        # Then
        _, written = terminal.ended()
        assert not any(f"\x1b[{code}m" in written for code in range(31, 38))


def test_a_kproxy_that_goes_away_is_said_on_the_screen() -> None:
    # Given
    with serving(groups().server()) as url:
        terminal = Terminal("--admin-url", url, "--interval", "0.2")
        terminal.until("workers")
    try:
        # Then
        terminal.until("cannot reach")
        terminal.press("q")
        assert terminal.ended()[0] == 0
    finally:
        terminal.close()


def test_a_terminal_that_can_do_nothing_gets_a_table() -> None:
    with on_a_terminal("--interval", "0.1", environment={"TERM": "dumb"}) as terminal:
        # When
        code, written = terminal.ended()

        # Then
        assert (code, LEFT_SCREEN in written) == (0, False)
        assert "workers  Stable" in written
