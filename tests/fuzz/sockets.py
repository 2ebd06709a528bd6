"""A connection in memory of the system, for servers whose protocols want a real transport, on a loop that lasts."""

import asyncio
import logging
import socket
import struct
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

T = TypeVar("T")

MOST_TURNS: Final = 2_000
"""Turns of the loop until both ends of a connection must be gone."""


class LastingLoop:
    """An event loop for many executions, and whatever went wrong in it without anybody to tell."""

    def __init__(self) -> None:
        self._loop: Final = asyncio.new_event_loop()
        self._loop.set_exception_handler(lambda _loop, context: self._complaints.append(context))
        self._complaints: list[dict[str, Any]] = []

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run `main` to its end.

        Raises what it raises, what a callback or a protocol raised meanwhile, and what was logged with a stack trace:
        kproxy's own faults end a connection, and are told in the log.
        """
        self._complaints.clear()
        with _crashes_told() as crashes:
            result = self._loop.run_until_complete(main)
        for complaint in self._complaints:
            raise complaint.get("exception") or AssertionError(complaint["message"])
        for crash in crashes:
            raise AssertionError("a fault was logged") from crash
        return result


class _Crashes(logging.Handler):
    """Keeps the exceptions of records that have one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.found.append(record.exc_info[1])


@contextmanager
def _crashes_told() -> Iterator[list[BaseException]]:
    """Yield the exceptions that are logged within; nothing else is."""
    loggers, crashes = [logging.getLogger(name) for name in ("kproxy", "aiohttp")], _Crashes()
    before = [(each, each.level, each.propagate) for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
        each.propagate = False
        each.addHandler(crashes)
    try:
        yield crashes.found
    finally:
        for each, level, propagates in before:
            each.removeHandler(crashes)
            each.setLevel(level)
            each.propagate = propagates


_LOOPS: Final[list[LastingLoop]] = []


def lasting_loop() -> LastingLoop:
    """Return the one loop that all targets share: to make one takes longer than an execution."""
    if not _LOOPS:
        _LOOPS.append(LastingLoop())
    return _LOOPS[0]


async def said_to(
    make_protocol: Callable[[], asyncio.BaseProtocol], sent: bytes, *, turns: int = 12
) -> bytes:
    """Send `sent` to a new connection of `make_protocol`, and close it some turns later; return what it answered.

    Who spoke nonsense is closed some time later; here at once. Raises AssertionError when even that leaves it open.
    """
    loop = asyncio.get_running_loop()
    theirs, ours = _pair()
    transport, _ = await loop.connect_accepted_socket(make_protocol, theirs)
    received = bytearray()
    try:
        for turn in range(turns + len(sent) // 1000):
            sent = _sent(ours, sent)
            await asyncio.sleep(0)
            received += _came(ours)
            if turn > 3 and transport.is_closing():
                break
    finally:
        # No goodbye: thousands of connections a second would use up all ports for a minute.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ours.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    transport.abort()
    for _ in range(MOST_TURNS):
        if theirs.fileno() < 0:
            return bytes(received)
        await asyncio.sleep(0)
    raise AssertionError("a connection that was aborted is still open")


_LISTENING: Final[list[socket.socket]] = []


def _pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends of a TCP connection: the server's, and the client's."""
    if not _LISTENING:
        _LISTENING.append(socket.create_server(("127.0.0.1", 0)))
    ours = socket.create_connection(_LISTENING[0].getsockname())
    theirs, _ = _LISTENING[0].accept()
    for each in (ours, theirs):
        each.setblocking(False)
    return theirs, ours


def _sent(ours: socket.socket, data: bytes) -> bytes:
    """Send what the system takes; return the rest."""
    try:
        return data[ours.send(data) :] if data else b""
    except BlockingIOError:
        return data
    except OSError:
        return b""


def _came(ours: socket.socket) -> bytes:
    try:
        return ours.recv(1 << 16)
    except OSError:
        return b""
