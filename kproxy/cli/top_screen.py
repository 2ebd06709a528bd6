"""The terminal of `kproxy top`: what is on the screen, and keys, read without waiting for them.

Whatever ends it - a key, Ctrl-C, SIGTERM, a fault - the terminal is left as it was found.
"""

import io
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Final, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from kproxy.cli.top_drawing import HELP, group_lines, list_lines
from kproxy.cli.top_looks import Looks, Seen
from kproxy.clients.admin_port import Item
from kproxy.clients.tables import cell_text, printable
from kproxy.clients.top.group_rows import in_order, rows_of
from kproxy.clients.top.screen_state import ScreenState, Shown, after_key
from kproxy.clients.top.terminal_keys import keys_in
from kproxy.clients.window_strip import GLYPHS, PLAIN_GLYPHS
from kproxy.wording import counted

_REFRESH_S: Final = 0.25
"""How long a change of the terminal's size, or a new look, may go unseen."""
_ESCAPE_S: Final = 0.03
"""How long the rest of a key may take that begins as escape does."""
_HEAD_AND_FOOT: Final = 3
_READ_AT_ONCE: Final = 1024


class Keyboard:
    """Keys one by one, without an echo, from `__enter__` to `__exit__`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> Self:
        self._found = termios.tcgetattr(self._descriptor)
        tty.setcbreak(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, self._found)

    def pressed(self, timeout_s: float) -> list[str]:
        """Return the keys that were pressed; `q` when there is no keyboard any more."""
        if not self._has_more(timeout_s):
            return []
        read = os.read(self._descriptor, _READ_AT_ONCE)
        if not read:
            return ["q"]
        if read.endswith((b"\x1b", b"\x1b[", b"\x1bO")) and self._has_more(_ESCAPE_S):
            read += os.read(self._descriptor, _READ_AT_ONCE)
        return keys_in(read.decode("utf-8", "ignore"))

    def _has_more(self, timeout_s: float) -> bool:
        return bool(select.select([self._descriptor], [], [], timeout_s)[0])


def show_until_ended(looks: Looks, admin_url: str, state: ScreenState) -> None:
    """Show the screen until somebody ends it: `q`, Ctrl-C, SIGTERM or SIGHUP."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a group may have an id that the terminal cannot show
    console = Console()
    with _signals(), Keyboard(sys.stdin.fileno()) as keyboard:
        looks.start()
        try:
            with Live(console=console, screen=True, auto_refresh=False) as live:
                _Screen(looks, admin_url, console, state).run(keyboard, live)
        except KeyboardInterrupt:
            return
        finally:
            looks.end()


class _Screen:
    """What was asked for by keys, and what is shown of the looks."""

    def __init__(self, looks: Looks, admin_url: str, console: Console, state: ScreenState) -> None:
        self._looks = looks
        self._admin_url = admin_url
        self._console = console
        self._state = state
        self._seen = looks.seen
        self._glyphs = GLYPHS if console.encoding.startswith("utf") else PLAIN_GLYPHS

    def run(self, keyboard: Keyboard, live: Live) -> None:
        """Draw, read keys, and so on."""
        while not self._state.is_ended:
            if not self._state.is_paused:
                self._seen = self._looks.seen
            rows = self._rows()
            live.update(Group(*self._lines(rows)), refresh=True)
            shown = Shown([row["groupId"] for row in rows], page=max(1, self._room - 1))
            for key in keyboard.pressed(_REFRESH_S):
                self._state = after_key(self._state, key, shown)
            self._looks.open(self._state.opened)

    @property
    def _room(self) -> int:
        return max(1, self._console.height - _HEAD_AND_FOOT)

    def _rows(self) -> list[Item]:
        state = self._state
        rows = rows_of(self._seen.before, self._seen.now)
        return in_order(rows, sort=state.sort, is_reversed=state.is_reversed, text=state.text)

    def _lines(self, rows: list[Item]) -> Iterator[Text]:
        width, room = self._console.width, self._room
        yield self._line(self._title(len(rows)), "bold")
        yield self._line(*_complaint(self._seen))
        body = self._body(rows, width, room)[:room]
        for line in body:
            line.truncate(width, overflow="ellipsis")
            yield line
        for _ in range(room - len(body)):
            yield Text("")
        yield self._line(self._foot(), "reverse")

    def _body(self, rows: list[Item], width: int, room: int) -> list[Text]:
        state = self._state
        if state.has_help:
            return [Text(line) for line in HELP]
        if state.opened is None:
            return list_lines(rows, state, width=width, height=room)
        if self._seen.group is None:
            return [Text(f"looking at {cell_text(state.opened)} …")]
        lines = list(group_lines(self._seen.group, self._glyphs, width=width))
        first = min(state.first_line, max(0, len(lines) - room))
        self._state = replace(state, first_line=first)
        return lines[first:]

    def _title(self, shown: int) -> str:
        state = self._state
        groups = counted(len(self._seen.now.groups), "share group")
        order = ", ".join(filter(None, (f"by {state.sort}", "turned around" if state.is_reversed else "")))
        parts = [f"kproxy top  {self._admin_url}", groups, order]
        if state.text or state.is_typing:
            parts.append(f"{shown} with {state.text!r}")
        if state.is_paused:
            parts.append("held still")
        return "  ".join(parts)

    def _foot(self) -> str:
        if self._state.is_typing:
            return f"/{self._state.text}_   enter: keep   escape: show all"
        if self._state.opened is not None:
            return "escape: back   up, down: scroll   space: hold   ?: help   q: end"
        return "enter: open   /: filter   p l i a d r o n: sort   space: hold   ?: help   q: end"

    def _line(self, text: str, style: str) -> Text:
        line = Text(printable(text), style=style, no_wrap=True)
        line.truncate(self._console.width, overflow="ellipsis", pad=style == "reverse")
        return line


def _complaint(seen: Seen) -> tuple[str, str]:
    """Return what is wrong with what is shown, and its style."""
    if seen.problem:
        return f"shown is the last answer: {seen.problem}", "bold red"
    unavailable = seen.now.unavailable if seen.group is None else seen.group.unavailable
    return (f"not the whole truth: {unavailable}", "bold yellow") if unavailable else ("", "")


@contextmanager
def _signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end it as Ctrl-C does, with their own exit codes; nobody stops it half-way (Ctrl-Z)."""
    wanted: Mapping[signal.Signals, object] = {
        signal.SIGTERM: _end,
        signal.SIGHUP: _end,
        signal.SIGTSTP: signal.SIG_IGN,
    }
    found = {number: signal.signal(number, handler) for number, handler in wanted.items()}  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number, handler in found.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)
