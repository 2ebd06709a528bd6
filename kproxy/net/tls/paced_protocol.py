"""`PacedProtocol`: TLS between a TCP transport and a protocol, both for who accepts and for who dials.

What asyncio and uvloop have for it (`sslproto`) encrypts all that it is given in one turn and does not count it any
more; and what it had decrypted, or held for a protocol that paused, is lost under uvloop as soon as the peer's FIN
arrives.
"""

import asyncio
import ssl
import threading
from typing import Final, Generic, Self, TypeVar, cast

from kproxy.net.tls.paced_transport import RECORD_BYTES, PacedTransport, Served, sparing_reader

P = TypeVar("P", bound=asyncio.BaseProtocol)

_READ_BYTES: Final = 256 * 1024
"""Read from a socket in one turn."""


class _ReadBuffer(threading.local):
    """Where a loop, of which a thread has one, reads to: what is read is decrypted before it reads again."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_read_buffer: Final = _ReadBuffer()


class PacedProtocol(asyncio.BufferedProtocol, Generic[P]):
    """Shakes hands, and then lets `protocol` have a `PacedTransport`.

    What the peer sent before its end, close_notify or not, reaches `protocol` before `connection_lost`. It has
    `eof_received` called at close_notify only, and then the connection is closed, whatever that returns.

    Args:
        protocol: is made known of the connection when the handshake is done, not before.
        context: what TLS is made with.
        server_hostname: whom the peer has to be, for who dials; None without a look, and for who accepts.
        server_side: whether this side accepts.
    """

    __slots__ = (
        "_error",
        "_incoming",
        "_loop",
        "_newcomer",
        "_outgoing",
        "_room_bytes",
        "_shaken",
        "_tcp",
        "_tls",
        "_transport",
        "heard_ms",
        "protocol",
    )

    def __init__(
        self,
        protocol: P,
        context: ssl.SSLContext,
        *,
        server_hostname: str | None = None,
        server_side: bool = False,
    ) -> None:
        self.protocol = protocol
        """What it was made for: another one may have the transport by now."""
        self.heard_ms: int | None = None
        """When the peer last said something, by the loop's clock; None before it has."""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_hostname
        )
        self._tcp: asyncio.Transport | None = None
        self._transport: PacedTransport | None = None
        self._loop = asyncio.get_running_loop()
        self._shaken: asyncio.Future[None] = self._loop.create_future()
        self._error: Exception | None = None
        self._newcomer = sparing_reader(protocol)
        self._room_bytes = _READ_BYTES

    @property
    def is_shaken(self) -> bool:
        """Whether the handshake is done, and the connection not lost since."""
        return self._transport is not None

    async def shaken(self, timeout_seconds: float) -> Self:
        """Return when hands are shaken, be it in the turn in which `timeout_seconds` are over.

        Raises:
            OSError: they are not; ConnectionAbortedError after `timeout_seconds`. The connection is closed.
        """
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._shaken
        except TimeoutError:
            if not self.is_shaken:
                raise ConnectionAbortedError(f"no TLS handshake within {timeout_seconds} s") from None
        finally:
            if not self.is_shaken and self._tcp is not None:
                self._tcp.abort()
        return self

    def cut_off(self, error: OSError) -> None:
        """End the handshake, if it is still under way: `shaken` raises `error`."""
        if not self.is_shaken:
            self._fail(error)
            if self._tcp is not None:
                self._tcp.abort()

    # ------------------------------------------------ what the TCP transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast("asyncio.Transport", transport)
        if self._error is None and not self._tls.server_side:
            self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - as `BufferedProtocol` has it
        sparing = self._newcomer if self._transport is None else self._transport.sparing
        self._room_bytes = _READ_BYTES if sparing is None else min(sparing.room_bytes(), _READ_BYTES)
        return _read_buffer.view[: self._room_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        if self._error is not None:
            return
        if nbytes == self._room_bytes:
            self._rest()
        self.heard_ms, was_shaken = int(self._loop.time() * 1000), self._transport is not None
        came, is_over = _read_buffer.view[:nbytes], False
        chunks: list[bytes] = []
        while came and not is_over:
            self._incoming.write(came[:RECORD_BYTES])  # its memory stays as large as it once was
            came = came[RECORD_BYTES:]
            is_over = self._take(chunks)
        self._hand_on(chunks)
        if self._transport is not None and was_shaken:
            self._transport.flush()
        if self._transport is not None and is_over:
            self._end(self._transport)

    def eof_received(self) -> bool:
        """Close: all that was sent before has been read."""
        if self._transport is None:
            self._fail(ConnectionResetError())
        else:
            self._transport.end()
        return False

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause()

    def resume_writing(self) -> None:
        if self._transport is not None:
            self._transport.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        transport, self._transport = self._transport, None
        error, self._tcp = self._error or exc, None
        del (
            self._tls,
            self._incoming,
            self._outgoing,
        )  # an error that is raised holds its frames, and so this object
        if transport is None:
            self._fail(error or ConnectionResetError())
            return
        protocol = transport.protocol
        transport.forget()
        if protocol is not None:
            protocol.connection_lost(error)

    # ------------------------------------------------ private

    def _rest(self) -> None:
        """Read on in the loop's next turn: libuv reads up to 32 full buffers before anybody else has one."""
        assert self._tcp is not None
        self._tcp.pause_reading()
        self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        is_wanted = self._transport is None or self._transport.is_read
        if self._tcp is not None and not self._tcp.is_closing() and is_wanted:
            self._tcp.resume_reading()

    def _take(self, chunks: list[bytes]) -> bool:
        """Decrypt what came, to the end of `chunks`; tell whether the peer has closed, or TLS has failed."""
        if self._transport is None and not self._shake_hands():
            return self._error is not None
        try:
            while self._incoming.pending or self._tls.pending():
                chunk = self._tls.read(RECORD_BYTES)
                if not chunk:
                    return True
                chunks.append(chunk)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            return True
        except ssl.SSLError as error:
            self._error = error.with_traceback(None)
            return True
        return False

    def _hand_on(self, chunks: list[bytes]) -> None:
        transport = self._transport
        if not chunks or transport is None or transport.is_closing():
            return
        protocol, data = transport.protocol, chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if transport.sparing is not None:
            transport.sparing.take_read(data)
        elif isinstance(protocol, asyncio.BufferedProtocol):
            _fill(protocol, data, transport)
        elif protocol is not None:
            protocol.data_received(data)

    def _end(self, transport: PacedTransport) -> None:
        if self._error is None and transport.protocol is not None and not transport.is_closing():
            transport.protocol.eof_received()
        transport.end()

    def _shake_hands(self) -> bool:
        """Go on with the handshake; tell whether it is done."""
        assert self._tcp is not None
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush(self._tcp)
            return False
        except ssl.SSLError as error:
            self._flush(self._tcp)
            self._fail(error.with_traceback(None))
            return False
        served = cast("Served", self.protocol)
        self._transport = PacedTransport(self._tcp, self._tls, self._outgoing, served)
        self.protocol.connection_made(self._transport)
        if not self._shaken.done():
            self._shaken.set_result(None)
        # Behind whoever waits for that: what he says first goes out together with the last word of the handshake.
        self._loop.call_soon(self._transport.flush)
        return True

    def _flush(self, tcp: asyncio.Transport) -> None:
        if self._outgoing.pending:
            tcp.write(self._outgoing.read())

    def _fail(self, error: Exception) -> None:
        self._error = error
        if not self._shaken.done():
            self._shaken.set_exception(error)
            self._shaken.exception()  # nobody may be waiting any more
        if self._tcp is not None:
            self._tcp.close()


def _fill(protocol: asyncio.BufferedProtocol, data: bytes, transport: PacedTransport) -> None:
    left = memoryview(data)
    while left and not transport.is_closing():
        room = memoryview(protocol.get_buffer(len(left)))
        count = min(len(room), len(left))
        room[:count], left = left[:count], left[count:]
        protocol.buffer_updated(count)
