"""`PacedTransport`: encrypts no more than its peer takes, and says how much still waits."""

import asyncio
import fcntl
import ssl
import struct
import termios
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, Protocol, cast, runtime_checkable

RECORD_BYTES: Final = 16 * 1024
"""The most plaintext of one TLS record (RFC 8446, section 5.1)."""

SLICE_BYTES: Final = 64 * 1024
"""Encrypted at once: a whole slice is more than a TCP transport takes without saying stop."""

_SLICES_A_TURN: Final = 4
"""What is encrypted without letting others go on, however fast the peer is."""

LOOK_SECONDS: Final = 0.1
"""While it closes: how often is looked whether the peer's host has acknowledged all that was sent."""

_MOST_LOOKS: Final = 10
"""After so many looks in a row at which it had nothing is left to send, and its own close_notify is not awaited."""

PATIENCE_SECONDS: Final = 30.0
"""While it closes: how long a peer may take nothing of what waits before the rest is dropped."""

Buffer = bytes | bytearray | memoryview

Served = asyncio.Protocol | asyncio.BufferedProtocol


@runtime_checkable
class SparingReader(Protocol):
    """A protocol that says how much may be read for it at once, and takes that as it is: `SparingProtocol`."""

    def room_bytes(self) -> int:
        """Return how many bytes, one at least."""
        ...

    def take_read(self, data: bytes) -> None:
        """Take what was read, decrypted."""
        ...


def sparing_reader(served: object) -> SparingReader | None:
    """Return `served` if it is one."""
    return served if isinstance(served, SparingReader) else None


def is_tls(transport: asyncio.BaseTransport) -> bool:
    """Tell whether what passes is encrypted."""
    return transport.get_extra_info("ssl_object") is not None


class PacedTransport(asyncio.Transport):
    """Keeps what is written in a queue, in plaintext, and gives slices of it, encrypted, to a TCP transport.

    `get_write_buffer_size` counts all that has not reached a socket. Reading is paused at the TCP transport itself:
    what was not read stays in the socket, and the end that stands behind it is not seen before it.

    Args:
        tcp: what carries the encrypted bytes. Its protocol calls `pause`, `go_on` and `forget`.
        tls: the side of a TLS connection whose handshake is done.
        outgoing: what `tls` writes to.
        protocol: is called as by any transport, but by its owner for what arrives.
    """

    __slots__ = (
        "_has_said_last_word",
        "_high_bytes",
        "_is_closing",
        "_is_full",
        "_is_held",
        "_is_tcp_full",
        "_is_unsaid",
        "_left_bytes",
        "_look",
        "_low_bytes",
        "_outgoing",
        "_queue",
        "_queued_bytes",
        "_quiet_looks",
        "_stalled_looks",
        "_tcp",
        "_tls",
        "_turn",
        "is_read",
        "protocol",
        "sparing",
    )

    def __init__(
        self, tcp: asyncio.Transport, tls: ssl.SSLObject, outgoing: ssl.MemoryBIO, protocol: Served
    ) -> None:
        super().__init__()
        self._tcp, self._tls, self._outgoing = tcp, tls, outgoing
        self.protocol: Served | None = protocol
        """Whom it serves; None once the connection is lost."""
        self.sparing = sparing_reader(protocol)
        """The same, if it says how much may be read for it."""
        self._queue: deque[Buffer] = deque()
        self._queued_bytes = 0
        self._high_bytes, self._low_bytes = SLICE_BYTES, SLICE_BYTES // 4
        self._is_full = self._is_tcp_full = self._is_closing = self._has_said_last_word = False
        self._is_held = self._is_unsaid = False
        self._turn: asyncio.Handle | None = None
        self.is_read = True
        """Whether what comes is wanted; the TCP transport may rest all the same until the loop's next turn."""
        self._look: asyncio.TimerHandle | None = None
        self._left_bytes = self._quiet_looks = self._stalled_looks = 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls if name == "ssl_object" else self._tcp.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol, self.sparing = cast("Served", protocol), sparing_reader(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self.protocol is not None
        return self.protocol

    def is_closing(self) -> bool:
        return self._is_closing or self._tcp.is_closing()

    @property
    def may_read(self) -> bool:
        """Whether what comes is wanted, and nothing forbids to read it now."""
        return self.is_read and not self._is_held and not self._is_unsaid

    def is_reading(self) -> bool:
        return self.is_read and not self._tcp.is_closing()

    def pause_reading(self) -> None:
        if not self._is_closing:
            self.is_read = False
            self._tcp.pause_reading()

    def resume_reading(self) -> None:
        if not self._is_closing:
            self.is_read = True
            self._read_on()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits; None is a slice for `high`, and a quarter of `high` for `low`."""
        self._high_bytes = SLICE_BYTES if high is None else high
        self._low_bytes = self._high_bytes // 4 if low is None else low
        self._note_full()

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low_bytes, self._high_bytes

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait: those in the queue, and those that the TCP transport holds, encrypted."""
        return self._queued_bytes + self._tcp.get_write_buffer_size()

    def write(self, data: Buffer) -> None:
        """Write `data`; after `close` it is dropped."""
        if self._is_closing or not data:
            return
        if self._queue or self._is_tcp_full or len(data) > SLICE_BYTES:
            self._queue.append(data)
            self._queued_bytes += len(data)
            self._feed()
        else:
            self._send(data)
        self._note_full()

    def writelines(self, list_of_data: Iterable[Buffer]) -> None:
        """Write all of them, of those that fit into one slice as much together as TLS takes; see `write`."""
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
        """Read nothing more, say close_notify behind all that waits, and close once the peer has that.

        What waits is dropped when the peer takes nothing of it for `PATIENCE_SECONDS`. A peer that does not answer
        close_notify, as clients that are busy do not, is let go a second after its host has all.
        """
        if self.is_closing():
            return
        self._is_closing = True
        self.is_read = False
        self._tcp.pause_reading()
        self._look_later()
        self._feed()

    def abort(self) -> None:
        """Close now; what waits is lost."""
        self._is_closing = True
        self._drop()
        if self.protocol is not None:  # once it is lost, a transport of asyncio's cannot be aborted
            self._tcp.abort()

    # ------------------------------------------------ for the protocol of the TCP transport

    def pause(self) -> None:
        """Encrypt nothing more: the TCP transport has enough."""
        self._is_tcp_full = True

    def go_on(self) -> None:
        """Encrypt what waits: the TCP transport takes more."""
        self._is_tcp_full = False
        self._say_own()
        self._feed()
        self._note_taken()
        if self._is_unsaid:
            self._is_unsaid = False
            self._read_on()

    def hold(self) -> None:
        """Read nothing, whatever is wanted, until `let_go`."""
        self._is_held = True
        if not self._tcp.is_closing():
            self._tcp.pause_reading()

    def let_go(self) -> None:
        """Take `hold` back; whoever calls that reads on."""
        self._is_held = False

    def flush(self) -> None:
        """Send what TLS has to say by itself: answers of its own, alerts.

        While the TCP transport has enough that waits, and what would make it more is not read.
        """
        if not self._is_tcp_full:
            self._say_own()
        elif self._outgoing.pending and not self._tcp.is_closing():
            self._is_unsaid = True
            self._tcp.pause_reading()

    def end(self) -> None:
        """Drop what waits, and close: the peer has said that it wants nothing more, or TLS has failed."""
        self._drop()
        if not self._is_closing:
            self._is_closing = True
            self._look_later()
        self._say_last_word()
        self._tcp.close()

    def forget(self) -> None:
        """Drop what waits, and call nobody any more: the connection is lost."""
        self._is_closing = True
        self._drop()
        self.protocol = self.sparing = None
        if self._look is not None:
            self._look.cancel()
            self._look = None

    # ------------------------------------------------ private

    def _read_on(self) -> None:
        if self.may_read and not self._tcp.is_closing():
            self._tcp.resume_reading()

    def _say_own(self) -> None:
        if self._outgoing.pending and not self._tcp.is_closing():
            self._tcp.write(self._outgoing.read())

    def _feed(self) -> None:
        if self._turn is not None:
            return
        if self._tcp.is_closing():
            self._drop()
            return
        for _ in range(_SLICES_A_TURN):
            if not self._queue or self._is_tcp_full:
                break
            self._send(self._next_slice())
        else:
            if self._queue and not self._is_tcp_full:
                self._turn = asyncio.get_running_loop().call_soon(self._next_turn)
        if self._is_closing and not self._queue:
            self._say_last_word()

    def _next_turn(self) -> None:
        self._turn = None
        self._feed()
        self._note_taken()

    def _next_slice(self) -> Buffer:
        taken: list[Buffer] = []
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
        return taken[0] if len(taken) == 1 else b"".join(taken)

    def _send(self, data: Buffer) -> None:
        """Encrypt record by record: the memory between TLS and the socket stays as large as it once was."""
        records: list[bytes] = []
        left = memoryview(data)
        while left:
            left = left[self._tls.write(left[:RECORD_BYTES]) :]
            records.append(self._outgoing.read())
        self._tcp.write(records[0] if len(records) == 1 else b"".join(records))

    def _say_last_word(self) -> None:
        """Send close_notify; from now on what arrives is read, and dropped, for the sake of the peer's own."""
        if self._has_said_last_word:
            return
        self._has_said_last_word = True
        with suppress(ssl.SSLError):  # the peer has yet to say its own, or TLS has failed
            self._tls.unwrap()
        self._say_own()
        self.is_read = True
        self._read_on()

    def _look_later(self) -> None:
        self._look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look_whether_all_left)

    def _look_whether_all_left(self) -> None:
        left_before, self._left_bytes = self._left_bytes, self._unacknowledged_bytes()
        self._quiet_looks = 0 if self._left_bytes else self._quiet_looks + 1
        self._stalled_looks = self._stalled_looks + 1 if self._left_bytes == left_before else 0
        has_stalled = self._stalled_looks * LOOK_SECONDS >= PATIENCE_SECONDS
        if self._quiet_looks >= _MOST_LOOKS or has_stalled:
            self._look = None
            self.abort()
        else:
            self._look_later()

    def _unacknowledged_bytes(self) -> int:
        """Return how much the peer's host does not have yet."""
        waiting_bytes = self.get_write_buffer_size()
        own_end = self._tcp.get_extra_info("socket")
        if own_end is None or own_end.fileno() < 0:
            return waiting_bytes
        unsent = fcntl.ioctl(own_end.fileno(), termios.TIOCOUTQ, b"\0" * struct.calcsize("i"))
        return waiting_bytes + int(struct.unpack("i", unsent)[0])

    def _waiting_bytes(self) -> int:
        """Return what counts for the limits: of what the TCP transport holds is heard only when it was too much."""
        return self.get_write_buffer_size() if self._is_tcp_full else self._queued_bytes

    def _note_full(self) -> None:
        if not self._is_full and self._waiting_bytes() > self._high_bytes:
            self._is_full = True
            if self.protocol is not None:
                self.protocol.pause_writing()

    def _note_taken(self) -> None:
        if self._is_full and self._waiting_bytes() <= self._low_bytes:
            self._is_full = False
            if self.protocol is not None:
                self.protocol.resume_writing()

    def _drop(self) -> None:
        self._queue.clear()
        self._queued_bytes = 0
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None
