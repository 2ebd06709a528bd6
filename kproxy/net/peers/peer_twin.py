"""`PeerTwin`: the connection to another kproxy process that belongs to one client connection."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol, cast

from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.relay.memory.budget_account import BudgetAccount
from kproxy.net.relay.read_buffer import ReadBuffer
from kproxy.net.relay.relay import WRITE_HIGH_WATER_BYTES
from kproxy.net.relay.sparing_protocol import SparingProtocol
from kproxy.net.relay.transports import write_together
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.frames import LENGTH_BYTES, MIN_RESPONSE_BYTES, RESPONSE_HEAD_BYTES, unpack_response_head
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest

GIVEN_UP: Final = "given_up"
"""The reason when it was this process that did not want an answer any more."""

MORE_API_KEY: Final = ApiKey.API_VERSIONS
MORE_VERSION: Final = 0
"""What is asked behind a request, only for the peer to see that there is more; see `say_more`."""

GONE_VERSION: Final = 1
"""Of an ApiVersions by which the peer hears that the client of what follows is gone; see `say_gone`."""


class Answer(Protocol):
    """Where an answer goes; `RelayedAnswer`, or what holds it whole."""

    def receive(self, data: bytes | memoryview) -> None:
        """Take a part of it: of the frame, with its length."""
        ...

    def end(self) -> None:
        """Take note that all of it came."""
        ...

    def lose(self, failure: PeerFailure) -> None:
        """Take note that the rest of it will not come."""
        ...


@dataclass(slots=True)
class PeerTraffic:
    """What passed between this process and its peers, counted in plain integers."""

    to_peers: int = 0
    from_peers: int = 0
    open_twins: int = 0


@dataclass(frozen=True, slots=True)
class _Owed:
    """A response that has yet to come; one without `answer` is dropped."""

    correlation_id: int
    answer: Answer | None
    patience_ms: int = 0


class PeerTwin(SparingProtocol):
    """Asks one request after the other, and hands each answer on as it comes.

    Args:
        name: the peer, for messages.
        limits: how long it may be silent.
        traffic: counted up.
        reads: what it is read into; its budget is told what the peer has not taken yet.
    """

    __slots__ = (
        "_account",
        "_has_ended",
        "_has_moved",
        "_has_said_gone",
        "_has_said_more",
        "_is_forsaken",
        "_is_wanted",
        "_last_words",
        "_left",
        "_limits",
        "_loop",
        "_name",
        "_owed",
        "_partial",
        "_timer",
        "_traffic",
        "_transport",
    )

    def __init__(self, name: str, limits: PeerLimits, traffic: PeerTraffic, reads: ReadBuffer) -> None:
        super().__init__(reads)
        self._name = name
        self._limits = limits
        self._traffic = traffic
        self._account = BudgetAccount(reads.budget)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._owed: deque[_Owed] = deque()
        self._last_words: PeerFailure | None = None
        self._left = 0
        self._partial = b""
        self._timer: asyncio.TimerHandle | None = None
        self._has_ended = self._has_moved = self._is_forsaken = False
        self._has_said_more = self._has_said_gone = False
        self._is_wanted = True

    @property
    def is_open(self) -> bool:
        """Whether a request can be sent."""
        return self._transport is not None and not self._has_ended and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH_WATER_BYTES)
        self._traffic.open_twins += 1

    def data_received(self, data: bytes) -> None:
        self._traffic.from_peers += len(data)
        self._has_moved = True
        self._note_untaken()
        rest = memoryview(data)
        while rest and not self._is_forsaken:
            rest = self._take(rest) if self._left else self._begin(rest)

    def resume_writing(self) -> None:
        self._note_untaken()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._account.close()
        self._traffic.open_twins -= 1
        reason = f": {error}" if error is not None else ""
        self._lose(PeerFailure("lost", f"{self._name} closed the connection before it had answered{reason}"))

    # ---- what is asked

    def ask(
        self,
        request: Sequence[bytes | memoryview],
        answer: Answer,
        *,
        correlation_id: int,
        extra_patience_ms: int = 0,
    ) -> None:
        """Send a request (a whole frame) whose answer goes to `answer`. The twin is open."""
        self._has_said_more = self._has_moved = False
        patience_ms = self._limits.patience_ms + extra_patience_ms
        self._owed.append(_Owed(correlation_id, answer, patience_ms))
        self._watch(patience_ms)
        self._send(request)

    def send_left(self, request: Sequence[bytes | memoryview]) -> None:
        """Send a request that the client, which is gone, had sent before, and forsake the answer. The twin is open.

        The peer hears that the client is gone before: by the end of the connection it would hear it too late.
        """
        self.forsake()
        self.say_gone()
        self._send(request)

    def say_gone(self) -> None:
        """Let the peer hear, once, that the client of all that follows is gone: an ApiVersions of its own version.

        What is asked behind it is answered, and taken, as before. The twin is open.
        """
        if self._has_said_gone:
            return
        self._has_said_gone = True
        self._owed.append(_Owed(KEEPALIVE_CORRELATION_ID, None))
        self._send(_versions_request(GONE_VERSION, "kproxy-gone"))

    def say_more(self) -> None:
        """Let the peer see that something stands behind the request: an ApiVersions, which it answers without a look.

        Once for each request: a heartbeat that is held is answered when its client has sent anything behind it.
        """
        if self._has_said_more or not self.is_open or self._is_forsaken or not self._owed:
            return
        self._has_said_more = True
        self._owed.append(_Owed(KEEPALIVE_CORRELATION_ID, None))
        self._send(_versions_request(MORE_VERSION, "kproxy-more"))

    def read(self, *, is_wanted: bool) -> None:
        """Read from the peer, or nothing more for now; after a full read not before the loop's next turn."""
        self._is_wanted = is_wanted
        self._adjust_reading()

    # ---- the end

    def forsake(self) -> None:
        """Drop all that comes from now on: the client is gone; what it had sent is served all the same."""
        self._lose(PeerFailure(GIVEN_UP, f"{self._name} is not waited for any more"))
        self.read(is_wanted=True)
        if self._last_words is not None:
            self.abort()

    def close(self) -> None:
        """Send no more; the peer serves what it has, as it does for a client that went, and closes."""
        if not self.is_open or self._transport is None:
            return
        self.forsake()
        self._has_ended = True
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()
        self._timer = self._loop.call_later(self._limits.farewell_ms / 1000, self.abort)

    def fail(self, reason: str, detail: str) -> None:
        """Close now, and answer nobody; `detail` goes on where the name of the peer ends."""
        self._lose(PeerFailure(reason, f"{self._name} {detail}"))
        self.abort()

    def fail_behind_answer(self, reason: str, detail: str) -> None:
        """As `fail`, but an answer that has begun may end before; nothing more is asked."""
        if not self._left or self._is_forsaken:
            self.fail(reason, detail)
            return
        self._has_ended = True
        self._last_words = PeerFailure(reason, f"{self._name} {detail}")

    def abort(self) -> None:
        """Close now."""
        if self._transport is not None:
            self._transport.abort()

    # ---- private

    def _adjust_reading(self) -> None:
        is_wanted, transport = self._is_wanted and not self._is_resting, self._transport
        if transport is None or transport.is_closing() or is_wanted is transport.is_reading():
            return
        if is_wanted:
            self._has_moved = True  # the time in which nothing was read is not the peer's
            transport.resume_reading()
        else:
            transport.pause_reading()

    def _send(self, request: Sequence[bytes | memoryview]) -> None:
        if self._transport is not None:
            self._traffic.to_peers += write_together(self._transport, request)
            self._note_untaken()

    def _note_untaken(self) -> None:
        if self._transport is not None:
            self._account.note_waiting(self._transport.get_write_buffer_size())

    def _begin(self, data: memoryview) -> memoryview:
        """Look at the head of the next response in `data`, which begins with it; return all of it, or nothing yet."""
        if self._partial:
            data, self._partial = memoryview(self._partial + data), b""
        if len(data) < RESPONSE_HEAD_BYTES:
            self._partial = bytes(data)
            return memoryview(b"")
        length, correlation_id = unpack_response_head(data)
        if not self._owed or self._owed[0].correlation_id != correlation_id or length < MIN_RESPONSE_BYTES:
            self.fail(
                "unexpected_answer", f"answered correlation id {correlation_id}, which nobody asked for"
            )
            return memoryview(b"")
        self._left = LENGTH_BYTES + length
        return data

    def _take(self, data: memoryview) -> memoryview:
        part, answer = data[: self._left], self._owed[0].answer
        self._left -= len(part)
        if answer is not None:
            answer.receive(part)
        if not self._left and self._owed:  # else it was given up meanwhile
            self._owed.popleft()
            self._end(answer)
            self._go_if_last()
        return data[len(part) :]

    def _end(self, answer: Answer | None) -> None:
        if answer is not None:
            self._watch_next()
            answer.end()
            self.read(is_wanted=True)

    def _go_if_last(self) -> None:
        if self._last_words is not None:
            self._lose(self._last_words)
            self.abort()

    def _watch(self, patience_ms: int) -> None:
        self._stop_watching()
        self._timer = self._loop.call_later(patience_ms / 1000, self._look)

    def _watch_next(self) -> None:
        """Begin the patience of the answer that comes next, if one is owed: behind one that was given up."""
        self._stop_watching()
        following = next((owed for owed in self._owed if owed.answer is not None), None)
        if following is not None:
            self._watch(following.patience_ms)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._transport is None:
            return
        if self._has_moved or not self._transport.is_reading():
            self._has_moved = False
            self._watch(self._limits.stall_ms)
        else:
            self.fail("silent", "was silent for too long")

    def _lose(self, failure: PeerFailure) -> None:
        self._stop_watching()
        owed, self._owed = self._owed, deque()
        self._is_forsaken = True
        for each in owed:
            if each.answer is not None:
                each.answer.lose(failure.again())


def _versions_request(version: int, client_id: str) -> list[bytes | memoryview]:
    return codecs.encode_request(
        MORE_API_KEY, version, KEEPALIVE_CORRELATION_ID, client_id, ApiVersionsRequest()
    )
