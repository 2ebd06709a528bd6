"""`AdminConnections`: how many there may be, and how long they may keep the admin port waiting.

The HTTP server that answers waits for a request as long as somebody likes to send one, and for a reader that reads
nothing. So each of its connections is one of these, which passes on all that happens and keeps time beside it.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from kproxy.admin.entrance.access import Reason
from kproxy.telemetry.metrics import Metrics

_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What connections of the admin port may take.

    A request is there within `request_s` of its first byte, and the first one of a connection within that of its
    beginning; its body within `body_s` more. Without a request `unasked_bytes` come at most. A reader stands still for
    `reader_s` at most.
    """

    most: int = 128
    request_s: float = 10.0
    body_s: float = 10.0
    reader_s: float = 30.0
    unasked_bytes: int = 128 << 10


class AdminConnections:
    """The connections of one HTTP server, which makes the protocol of each with `serve`.

    Where all places are taken, one that is not being answered gives way to a newcomer: idle between two requests, or
    with half of one. It is that which was answered longest ago, of those first that have read all of their answers.
    A newcomer is refused while all others are being answered.
    """

    def __init__(
        self,
        serve: Callable[[], asyncio.Protocol],
        metrics: Metrics,
        limits: ConnectionLimits | None = None,
    ) -> None:
        self._serve = serve
        self._metrics = metrics
        self.limits = limits or ConnectionLimits()
        self._open: dict[asyncio.Transport, _Connection] = {}
        self._waiting: dict[asyncio.Transport, None] = {}
        """Those of them that are not being answered, the one that was longest ago first."""

    def accept(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Connection(self, self._serve())

    @contextmanager
    def at_work(self, transport: asyncio.BaseTransport | None) -> Iterator[None]:
        """Count the request of a connection as being there as long as the block lasts."""
        opened = cast("asyncio.Transport", transport)
        connection = self._open.get(opened)
        if connection is not None:
            self._waiting.pop(opened, None)
            connection.begin_work()
        try:
            yield
        finally:
            if connection is not None:
                self._let_wait(opened)
                connection.end_work()

    @contextmanager
    def awaiting_body(self, transport: asyncio.BaseTransport | None) -> Iterator[None]:
        """Let a connection give way, though its request is at work, as long as the block lasts."""
        opened = cast("asyncio.Transport", transport)
        self._let_wait(opened)
        try:
            yield
        finally:
            self._waiting.pop(opened, None)

    def admit(self, transport: asyncio.Transport, connection: "_Connection") -> bool:
        """Tell whether there is room for another connection, or is made, and count it in."""
        if len(self._open) >= self.limits.most:
            self.count(Reason.TOO_MANY)
            if not self._waiting:
                return False
            longest = min(
                self._waiting, key=lambda each: each.get_write_buffer_size() > 0
            )  # of equals the first
            self.forget(longest)
            longest.abort()
        self._open[transport] = connection
        self._let_wait(transport)
        return True

    def forget(self, transport: asyncio.Transport) -> None:
        """Count a connection out."""
        self._open.pop(transport, None)
        self._waiting.pop(transport, None)

    def _let_wait(self, transport: asyncio.Transport) -> None:
        if transport in self._open:
            self._waiting[transport] = None

    def count(self, reason: Reason) -> None:
        """Count a refusal."""
        self._metrics.count("admin_requests_refused", 1, reason)


class _Connection(asyncio.Protocol):
    def __init__(self, connections: AdminConnections, served: asyncio.Protocol) -> None:
        self._connections = connections
        self._served = served
        self._transport: asyncio.Transport | None = None
        self._is_at_work = False
        self._unasked = 0
        self._request_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    # ------------------------------------------------ requests

    def begin_work(self) -> None:
        self._is_at_work = True
        self._unasked = 0
        self._request_timer = _stopped(self._request_timer)

    def end_work(self) -> None:
        self._is_at_work = False
        if self._unasked:  # the next request began meanwhile
            self._expect_request()

    def _expect_request(self) -> None:
        if self._request_timer is None and self._transport is not None:
            delay_s = self._connections.limits.request_s
            self._request_timer = asyncio.get_running_loop().call_later(delay_s, self._give_up_request)

    def _give_up_request(self) -> None:
        self._request_timer = None
        self._refuse(Reason.TOO_SLOW, _TOO_SLOW if self._unasked else b"")

    def _refuse(self, reason: Reason, answer: bytes) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._connections.count(reason)
        if answer:
            self._transport.write(answer)
        self._transport.close()

    # ------------------------------------------------ readers

    def pause_writing(self) -> None:
        self._served.pause_writing()
        delay_s = self._connections.limits.reader_s
        self._reader_timer = asyncio.get_running_loop().call_later(delay_s, self._give_up_reader)

    def resume_writing(self) -> None:
        self._reader_timer = _stopped(self._reader_timer)
        self._served.resume_writing()

    def _give_up_reader(self) -> None:
        self._reader_timer = None
        if self._transport is not None:
            self._connections.count(Reason.READER_STALLED)
            self._transport.abort()

    # ------------------------------------------------ passed on

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none by their class.
        opened = cast("asyncio.Transport", transport)
        if not self._connections.admit(opened, self):
            opened.abort()
            return
        self._transport = opened
        self._served.connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        if self._transport is None:
            return
        self._unasked += len(data)
        if not self._is_at_work:
            if self._unasked > self._connections.limits.unasked_bytes:
                self._refuse(Reason.TOO_LARGE, _TOO_LARGE)
                return
            self._expect_request()
        self._served.data_received(data)

    def eof_received(self) -> bool | None:
        return self._served.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is None:
            return
        self._connections.forget(self._transport)
        self._transport = None
        self._request_timer = _stopped(self._request_timer)
        self._reader_timer = _stopped(self._reader_timer)
        self._served.connection_lost(exc)


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer; return what stands in its place."""
    if timer is not None:
        timer.cancel()
    return None
