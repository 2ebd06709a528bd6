"""`PacedTransport`: gives TLS no more to encrypt than its peer takes, and says how much still waits.

A TLS transport by itself encrypts all that it is given in one turn and hands it to the TCP transport beneath, whose
buffer it does not count; what the buffer of OpenSSL once grew to it keeps as long as the connection lives.
"""

import asyncio
import fcntl
import struct
import termios
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

SLICE_BYTES: Final = 64 * 1024
"""Given to TLS at once: encrypted, a whole slice is more than the TCP transport beneath takes without saying stop."""

_SLICES_A_TURN: Final = 4
"""What is encrypted without letting others go on, however fast the peer is."""

LOOK_SECONDS: Final = 0.1
"""After close_notify: how often is looked whether the peer's host has acknowledged all that was sent."""

_MOST_LOOKS: Final = 10
"""After so many looks in a row at which it had nothing is left to send, and its own close_notify is not awaited."""


class PacedTransport(asyncio.Transport):
    """Keeps what is written in a queue, in plaintext, and gives slices of it to a TLS transport that holds none.

    Not counted by `get_write_buffer_size` is only what the TCP transport beneath holds: two slices at most.
    The protocol of the TLS transport calls `go_on` in its `resume_writing`, and `forget` in its `connection_lost`.

    Args:
        tls: the transport that encrypts. Its own limits are this one's business from now on.
        on_full: called when more than the high-water limit waits.
        on_taken: called, after that, when no more than the low-water limit waits.
    """

    __slots__ = (
        "_high_bytes",
        "_is_closing",
        "_is_full",
        "_look",
        "_looks",
        "_low_bytes",
        "_on_full",
        "_on_taken",
        "_queue",
        "_queued_bytes",
        "_tls",
        "_turn",
    )

    def __init__(
        self, tls: asyncio.Transport, *, on_full: Callable[[], None], on_taken: Callable[[], None]
    ) -> None:
        super().__init__()
        self._tls = tls
        self._on_full: Callable[[], None] | None = on_full
        self._on_taken: Callable[[], None] | None = on_taken
        self._queue: deque[bytes | bytearray | memoryview] = deque()
        self._queued_bytes = 0
        self._high_bytes, self._low_bytes = SLICE_BYTES, SLICE_BYTES // 4
        self._is_full = self._is_closing = False
        self._turn: asyncio.Handle | None = None
        self._look: asyncio.TimerHandle | None = None
        self._looks = 0
        tls.set_write_buffer_limits(high=1, low=0)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._is_closing or self._tls.is_closing()

    def is_reading(self) -> bool:
        return self._tls.is_reading()

    def pause_reading(self) -> None:
        self._tls.pause_reading()

    def resume_reading(self) -> None:
        self._tls.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits; None is a slice for `high`, and a quarter of `high` for `low`."""
        self._high_bytes = SLICE_BYTES if high is None else high
        self._low_bytes = self._high_bytes // 4 if low is None else low
        self._note_full()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_bytes, self._high_bytes

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait: those in the queue, and those that the TLS transport holds."""
        return self._queued_bytes + self._tls.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write `data`; after `close` it is dropped."""
        if self._is_closing or not data:
            return
        if self._queue or len(data) > SLICE_BYTES or self._tls.get_write_buffer_size():
            self.writelines((data,))
        else:
            self._tls.write(data)
            self._note_full()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write all of them; after `close` they are dropped."""
        if self._is_closing:
            return
        for data in filter(len, list_of_data):
            self._queue.append(data)
            self._queued_bytes += len(data)
        self._feed()
        self._note_full()

    def write_eof(self) -> None:
        """Raise NotImplementedError: TLS is closed in both directions."""
        raise NotImplementedError

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        """Read nothing more, and close once all that waits has been taken, however long that takes.

        A peer that does not answer close_notify, as clients that are busy do not, is let go a second after it.
        """
        if self.is_closing():
            return
        self._is_closing = True
        if self._queue:
            self._tls.pause_reading()
        else:
            self._close_tls()

    def abort(self) -> None:
        """Close now; what waits is lost."""
        self._is_closing = True
        self._drop()
        self._tls.abort()

    def go_on(self) -> None:
        """Give the TLS transport what waits: it holds nothing any more."""
        self._feed()
        self._note_taken()

    def forget(self) -> None:
        """Drop what waits, and call nobody any more: the connection is lost."""
        self._is_closing = True
        self._drop()
        self._on_full = self._on_taken = None
        if self._look is not None:
            self._look.cancel()

    def end(self) -> None:
        """Drop what waits, and close: the peer has said that it wants nothing more."""
        self._drop()
        self._is_closing = True
        self._close_tls()

    # ------------------------------------------------ private

    def _feed(self) -> None:
        if self._turn is not None:
            return
        if self._tls.is_closing():
            self._drop()
        for _ in range(_SLICES_A_TURN):
            if not self._queue or self._tls.get_write_buffer_size():
                break
            self._tls.writelines(self._next_slice())
        else:
            if self._queue:
                self._turn = asyncio.get_running_loop().call_soon(self._next_turn)
        if self._is_closing and not self._queue and not self._tls.is_closing():
            self._close_tls()

    def _close_tls(self) -> None:
        self._tls.close()
        if self._look is None:
            self._look_later()

    def _look_later(self) -> None:
        self._look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_whether_all_left)

    def _look_whether_all_left(self) -> None:
        """Abort after enough looks: what the transport beneath holds it would have sent to a socket that is empty."""
        is_quiet = not self._tls.get_write_buffer_size() and self._has_peer_all()
        self._looks = self._looks + 1 if is_quiet else 0
        if self._looks >= _MOST_LOOKS:
            self._tls.abort()
        else:
            self._look_later()

    def _has_peer_all(self) -> bool:
        own_end = self._tls.get_extra_info("socket")
        if own_end is None or own_end.fileno() < 0:
            return True
        unsent = fcntl.ioctl(own_end.fileno(), termios.TIOCOUTQ, b"\0" * struct.calcsize("i"))
        return struct.unpack("i", unsent) == (0,)

    def _next_turn(self) -> None:
        self._turn = None
        self.go_on()

    def _next_slice(self) -> list[bytes | bytearray | memoryview]:
        taken: list[bytes | bytearray | memoryview] = []
        room = SLICE_BYTES
        while self._queue and room:
            data = self._queue.popleft()
            if len(data) > room:
                whole = memoryview(data)
                data = whole[:room]
                self._queue.appendleft(whole[room:])
            taken.append(data)
            room -= len(data)
        self._queued_bytes -= SLICE_BYTES - room
        return taken

    def _note_full(self) -> None:
        if not self._is_full and self.get_write_buffer_size() > self._high_bytes:
            self._is_full = True
            if self._on_full is not None:
                self._on_full()

    def _note_taken(self) -> None:
        if self._is_full and self.get_write_buffer_size() <= self._low_bytes:
            self._is_full = False
            if self._on_taken is not None:
                self._on_taken()

    def _drop(self) -> None:
        self._queue.clear()
        self._queued_bytes = 0
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
