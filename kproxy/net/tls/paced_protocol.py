"""`PacedProtocol`: TLS between a TCP transport and a protocol, both for who accepts and for who dials.

What asyncio and uvloop have for it (`sslproto`) encrypts all that it is given in one turn and does not count it any
more; and what it had decrypted, or held for a protocol that paused, is lost under uvloop as soon as the peer's FIN
arrives.
"""

import asyncio
import ssl
import threading
import time
from typing import Final, Generic, Self, TypeVar, cast

from kproxy.net.tls.byte_costs import FEW_BYTES, LOOK_BYTES, ByteCosts
from kproxy.net.tls.handing_on import hand_on
from kproxy.net.tls.paced_transport import RECORD_BYTES, PacedTransport, Served, sparing_reader
from kproxy.net.tls.step_line import Row, step_line_of_this_loop

P = TypeVar("P", bound=asyncio.BaseProtocol)

_READ_BYTES: Final = 256 * 1024
"""Read from a socket in one turn."""

MOST_COSTLY: Final = 16
"""How many connections may wait, each with a read, because what they send costs much: one more of these is ended."""


class _ReadBuffer(threading.local):
    """Where a loop, of which a thread has one, reads to: what is read is decrypted before it reads again."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_read_buffer: Final = _ReadBuffer()


class PacedProtocol(asyncio.BufferedProtocol, Generic[P]):
    """Shakes hands, and then lets `protocol` have a `PacedTransport`.

    What the peer sent before its end, close_notify or not, reaches `protocol` before `connection_lost`. It has
    `eof_received` called at close_notify only, and then the connection is closed, whatever that returns.

    A step of the handshake is taken in a turn of the loop that has time for it: until then it stands in the line of all
    connections (`step_line`), and a record at most of what the peer sends meanwhile is read. What comes behind the
    handshake stands there, too, once it takes far longer than bytes do (`byte_costs`), and then nothing is read; all
    else is decrypted at once.

    Args:
        protocol: is made known of the connection when the handshake is done, not before.
        context: what TLS is made with.
        server_hostname: whom the peer has to be, for who dials; None without a look, and for who accepts.
        server_side: whether this side accepts.
        is_stranger: whether anybody may be the peer: until it is answered it waits behind others like it.
    """

    __slots__ = (
        "_came",
        "_costs",
        "_error",
        "_has_ended",
        "_incoming",
        "_line",
        "_loop",
        "_newcomer",
        "_outgoing",
        "_room_bytes",
        "_row",
        "_said_ms",
        "_shaken",
        "_tcp",
        "_timer",
        "_tls",
        "_transport",
        "begun_ms",
        "heard_ms",
        "is_waiting",
        "protocol",
    )

    def __init__(
        self,
        protocol: P,
        context: ssl.SSLContext,
        *,
        server_hostname: str | None = None,
        server_side: bool = False,
        is_stranger: bool = False,
    ) -> None:
        self.protocol = protocol
        """What it was made for: another one may have the transport by now."""
        self.heard_ms: int | None = None
        """When the peer last said something, or what it had said was taken in; None before it has said anything."""
        self.begun_ms: int | None = None
        """When what it said was first taken in; None before. Both are by the loop's clock."""
        self.is_waiting = False
        """Whether what it said stands in line."""
        self._said_ms: int | None = None
        """When the first of it came."""
        self._row = Row.STRANGERS if is_stranger else Row.OWN
        self._came = bytearray()
        """What waits there."""
        self._has_ended = False
        """Whether the peer's end stands behind that."""
        self._costs = ByteCosts()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=server_hostname
        )
        self._tcp: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: PacedTransport | None = None
        self._loop = asyncio.get_running_loop()
        self._line = step_line_of_this_loop()
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

        For how long the first word of the peer stood in line does not count, up to twice `timeout_seconds`.

        Raises:
            OSError: they are not; ConnectionAbortedError after that time. The connection is closed.
        """
        self._look_at_time(self._loop.time(), timeout_seconds)
        try:
            await self._shaken
        finally:
            if self._timer is not None:
                self._timer.cancel()
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
            self._begin_step()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - as `BufferedProtocol` has it
        if self._transport is None:
            sparing, room_bytes = self._newcomer, RECORD_BYTES - len(self._came)
        else:
            sparing, room_bytes = self._transport.sparing, _READ_BYTES
        self._room_bytes = room_bytes if sparing is None else min(sparing.room_bytes(), room_bytes)
        return _read_buffer.view[: self._room_bytes]

    def buffer_updated(self, nbytes: int) -> None:
        if self._error is not None:
            return
        if nbytes == self._room_bytes:
            self._rest()
        self.heard_ms = int(self._loop.time() * 1000)
        came = _read_buffer.view[:nbytes]
        if self._transport is not None and not self._costs.are_high:
            self._take_in(came)
            return
        self._said_ms = self.heard_ms if self._said_ms is None else self._said_ms
        self._came += came
        if not self.is_waiting:
            self._begin_step()

    def eof_received(self) -> bool:
        """Close: all that was sent before has been read. What waits of it is taken in first, but of a stranger's."""
        if self.is_waiting and self._row is not Row.STRANGERS:
            self._has_ended = True
            return True
        self._close_behind_end()
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
        self._leave_line()
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

    # ------------------------------------------------ what the line calls

    def take_step(self) -> None:
        """Take in what waits, and read on."""
        self.is_waiting = False
        tcp = self._tcp
        if self._error is not None or tcp is None or tcp.is_closing():
            return
        try:
            self._go_on()
        except Exception:
            tcp.abort()  # as the loop does when it calls by itself what raises
            raise

    # ------------------------------------------------ private

    def _look_at_time(self, began_s: float, timeout_seconds: float) -> None:
        now_s, wait_s = self._loop.time(), 0.0
        if self._said_ms is not None:
            wait_s = (now_s if self.begun_ms is None else self.begun_ms / 1000) - self._said_ms / 1000
        ends_s = began_s + timeout_seconds + min(wait_s, 2 * timeout_seconds)
        if now_s < ends_s:
            self._timer = self._loop.call_at(ends_s, self._look_at_time, began_s, timeout_seconds)
        elif not self._shaken.done():
            self._fail(ConnectionAbortedError(f"no TLS handshake within {timeout_seconds} s"))

    @property
    def _is_wanted(self) -> bool:
        """Whether more is to be read."""
        if self._transport is None:
            return len(self._came) < RECORD_BYTES
        return self._transport.may_read

    def _rest(self) -> None:
        """Read on in the loop's next turn: libuv reads up to 32 full buffers before anybody else has one."""
        assert self._tcp is not None
        self._tcp.pause_reading()
        self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if self._tcp is not None and not self._tcp.is_closing() and self._is_wanted:
            self._tcp.resume_reading()

    def _begin_step(self) -> None:
        """Take a step now, or in a later turn."""
        if self._transport is not None:
            self._wait_at_a_cost()
        else:
            self.is_waiting = True
            self._line.begin(self, self._row)

    def _wait_at_a_cost(self) -> None:
        """Let what costs much wait for its turn, and read nothing meanwhile; end the connection where too many do."""
        assert self._tcp is not None
        assert self._transport is not None
        if self._line.count_in(Row.COSTLY) >= MOST_COSTLY:
            self._error = ConnectionAbortedError("what it sends takes too long to decrypt")
            self._tcp.abort()
            return
        self.is_waiting = True
        self._transport.hold()
        self._line.stand(self, Row.COSTLY)

    def _leave_line(self) -> None:
        self._line.leave(self)
        self._came.clear()
        self.is_waiting = False

    def _go_on(self) -> None:
        came = memoryview(bytes(self._came))
        self._came.clear()
        if self._transport is not None:
            self._transport.let_go()
        if came:
            self.heard_ms = int(self._loop.time() * 1000)
            self.begun_ms = self.begun_ms if self.begun_ms is not None else self.heard_ms
            self._take_in(came)
        else:
            self._shake_hands()
        if not self._has_ended:
            self._read_on()
        elif self._error is None and not self.is_waiting:
            self._close_behind_end()

    def _take_in(self, came: memoryview) -> None:
        """Decrypt what came, and hand it on. Of what costs much this is a piece, and the rest waits."""
        was_shaken = self._transport is not None
        chunks: list[bytes] = []
        if was_shaken and (len(came) >= FEW_BYTES or self._costs.are_high):
            is_over, came = self._take_pieces(came, chunks)
        else:
            is_over = False
            while came and not is_over:
                is_over = self._take(came[:RECORD_BYTES], chunks)
                came = came[RECORD_BYTES:]
        if self._transport is None:
            return
        hand_on(chunks, self._transport)
        if was_shaken:
            self._transport.flush()
        if is_over:
            self._end(self._transport)
        elif came:
            self._came += came
            self._wait_at_a_cost()

    def _take_pieces(self, came: memoryview, chunks: list[bytes]) -> tuple[bool, memoryview]:
        """Do as `_take` with pieces of what came, and see what they cost; return what that tells, and what is left."""
        costs, is_over = self._costs, False
        size = costs.piece_bytes if len(came) <= costs.piece_bytes else LOOK_BYTES
        before_s = time.perf_counter()
        while came and not is_over:
            piece, came = came[:size], came[size:]
            is_over, after_s = self._take(piece, chunks), time.perf_counter()
            costs.note(len(piece), after_s - before_s)
            if costs.are_high:
                break
            size, before_s = costs.piece_bytes, after_s
        return is_over, came

    def _close_behind_end(self) -> None:
        if self._transport is None:
            self._fail(ConnectionResetError())
        else:
            self._transport.end()

    def _take(self, piece: memoryview, chunks: list[bytes]) -> bool:
        """Decrypt it, to the end of `chunks`; tell whether the peer has closed, or TLS has failed."""
        self._incoming.write(piece)  # its memory stays as large as it once was
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
            if self._row is Row.STRANGERS:
                self._row = Row.ANSWERED
            tcp.write(self._outgoing.read())

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._leave_line()
        if not self._shaken.done():
            self._shaken.set_exception(error)
            self._shaken.exception()  # nobody may be waiting any more
        if self._tcp is not None:
            self._tcp.close()
