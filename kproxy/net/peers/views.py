"""Paths of the admin port, asked of another process and answered to it: what only the owner of a group can tell.

A frame is a length of four bytes (big-endian, itself not counted) and a path in UTF-8; its answer is a length, a status
of two bytes as HTTP has it, and JSON.
"""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from typing import Final, cast

from kproxy.errors import CoordinatorNotAvailable
from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_hello import Purpose
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.tasks import TaskKeeper
from kproxy.wording import counted

Views = Callable[[str], Awaitable[tuple[int, bytes]]]
"""Returns status and JSON for a path, with what stands behind its question mark."""

MOST_PATH_BYTES: Final = 8 * 1024

_LENGTH: Final = struct.Struct(">i")
_STATUS: Final = struct.Struct(">h")


class ViewService(asyncio.Protocol):
    """Answers paths, one after the other."""

    __slots__ = (
        "__weakref__",
        "_answering",
        "_came",
        "_has_room",
        "_limits",
        "_tasks",
        "_transport",
        "_views",
    )

    def __init__(self, views: Views, tasks: TaskKeeper, limits: PeerLimits) -> None:
        self._views = views
        self._tasks = tasks
        self._limits = limits
        self._came = b""
        self._answering = False
        self._has_room = True
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        self._go_on()

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None

    def pause_writing(self) -> None:
        self._has_room = False

    def resume_writing(self) -> None:
        self._has_room = True
        self._go_on()

    def abort(self) -> None:
        """Close now: the process ends."""
        if self._transport is not None:
            self._transport.abort()

    def _go_on(self) -> None:
        """Take the next path when the answer before it has left; close on what can be none, and on a third."""
        while self._transport is not None and len(self._came) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._came)
            end = _LENGTH.size + length
            is_busy = self._answering or not self._has_room
            if not 0 < length <= MOST_PATH_BYTES or (is_busy and len(self._came) > end):
                self.abort()
                return
            if is_busy or len(self._came) < end:
                return
            path, self._came = self._came[_LENGTH.size : end], self._came[end:]
            self._answering = True
            self._tasks.spawn(self._answer(path.decode("utf-8", "replace")), name="view for a peer")

    async def _answer(self, path: str) -> None:
        status, body = 500, b'{"error": "kproxy met an unexpected fault"}'
        try:
            async with asyncio.timeout(self._limits.patience_ms / 1000):
                status, body = await self._views(path)
        except Exception as fault:  # noqa: BLE001 - the top of a request: noted, and answered
            self._tasks.note_fault("view for a peer", fault)
        self._answering = False
        if self._transport is not None:
            self._transport.writelines([_LENGTH.pack(_STATUS.size + len(body)), _STATUS.pack(status), body])
            self._go_on()


class ViewQuestion(asyncio.Protocol):
    """Asks one path, and closes."""

    __slots__ = ("_came", "_most_bytes", "_path", "_transport", "answered")

    def __init__(self, path: str, most_bytes: int) -> None:
        self._path = path.encode()
        self._most_bytes = most_bytes
        self._came = bytearray()
        self._transport: asyncio.Transport | None = None
        self.answered: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        """Status and JSON. Raises PeerFailure."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.writelines([_LENGTH.pack(len(self._path)), self._path])

    def data_received(self, data: bytes) -> None:
        self._came += data
        if self.answered.done() or len(self._came) < _LENGTH.size:
            return
        (length,) = _LENGTH.unpack_from(self._came)
        if not _STATUS.size <= length <= self._most_bytes:
            detail = f"a view of {counted(length, 'byte')}, {self._most_bytes} at most are read"
            self.answered.set_exception(PeerFailure("answer_too_large", detail))
        elif len(self._came) >= _LENGTH.size + length:
            (status,) = _STATUS.unpack_from(self._came, _LENGTH.size)
            body = bytes(self._came[_LENGTH.size + _STATUS.size : _LENGTH.size + length])
            self.answered.set_result((status, body))

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        if not self.answered.done():
            self.answered.set_exception(PeerFailure("lost", "the connection closed before the view had come"))

    def close(self) -> None:
        """Ask no more."""
        self.answered.cancel()
        if self._transport is not None:
            self._transport.abort()


async def ask_view(
    dialler: PeerDialler, peer: Peer, path: str, *, limits: PeerLimits, patience_ms: int
) -> tuple[int, bytes]:
    """Return the status and the JSON with which `peer` answers a path of its admin port.

    Raises:
        CoordinatorNotAvailable: it cannot be reached, or did not answer within `patience_ms`; the text says which.
    """
    question: ViewQuestion | None = None
    try:
        async with asyncio.timeout(patience_ms / 1000):
            question = await dialler.open(
                peer, Purpose.VIEWS, lambda: ViewQuestion(path, limits.most_answer_bytes)
            )
            return await question.answered
    except PeerFailure as failure:
        raise CoordinatorNotAvailable(f"{peer.name} shows nothing: {failure}") from failure
    except TimeoutError:
        raise CoordinatorNotAvailable(f"{peer.name} shows nothing within {patience_ms} ms") from None
    finally:
        if question is not None:
            question.close()
