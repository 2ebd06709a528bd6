"""`Reception`: a connection to the internal listener in its preamble."""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from kproxy.errors import PeerRefused
from kproxy.fleet.peer_handshake import ListenerHandshake
from kproxy.fleet.peer_hello import Hello
from kproxy.fleet.peer_preamble import refusal_frame
from kproxy.net.peers.peer_dialler import hand_over
from kproxy.net.peers.sockets import watch_peer
from kproxy.net.relay.transports import close_behind_buffer

_PATIENCE_MS = 1_000
"""How long a refusal may take to leave."""


class Host(Protocol):
    """Whose connections these are: `PeerListener`, which makes them, and so stands above this module."""

    def enter(self, reception: "Reception") -> None:
        """Take note that a connection is in its preamble; the oldest makes room if there are too many."""
        ...

    def begin(self) -> ListenerHandshake:
        """Return the handshake of a connection that can be spoken on. Raises PeerRefused."""
        ...

    def protocol_for(self, hello: Hello) -> asyncio.BaseProtocol | None:
        """Return what serves who is welcome; None when nothing more is to be said."""
        ...

    def note_refused(self, address: str, hello: Hello | None, refusal: PeerRefused) -> None:
        """Take note of somebody who was refused, under the name that he gave himself, if any."""
        ...

    def note_over(self, reception: "Reception") -> None:
        """Take note that a connection is in its preamble no more."""
        ...

    @property
    def preamble_ms(self) -> int:
        """How long the preamble may take."""
        ...


class Reception(asyncio.Protocol):
    """Says who this process is, hears who dials, and hands the connection over or closes it.

    Where it begins with a TLS handshake, that is part of its time and of its number: see `expect`.
    """

    __slots__ = ("_address", "_cut_off", "_handshake", "_host", "_is_over", "_timer", "_transport")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._address = "?"
        self._transport: asyncio.Transport | None = None
        self._handshake: ListenerHandshake | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._cut_off: Callable[[], object] | None = None
        self._is_over = False

    def expect(self, address: str, cut_off: Callable[[], object]) -> None:
        """Let its time begin: it is in its TLS handshake, which `cut_off` ends; behind that it is made."""
        self._cut_off = cut_off
        self._enter(address)

    def handshake_failed(self, refusal: PeerRefused) -> None:
        """Take note that it will not be made."""
        if not self._is_over:
            self._host.note_refused(self._address, None, refusal)
            self._over()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._is_over:
            self._transport.abort()
            return
        if self._cut_off is None:
            host, port, *_ = transport.get_extra_info("peername") or ("?", 0)
            self._enter(f"{host}:{port}")
        watch_peer(transport)
        try:
            self._handshake = self._host.begin()
        except PeerRefused as refusal:
            self.refuse(refusal)

    def data_received(self, data: bytes) -> None:
        handshake, transport = self._handshake, self._transport
        if handshake is None or transport is None or transport.is_closing():
            return
        try:
            answer = handshake.receive(data)
            protocol = None if handshake.welcomed is None else self._host.protocol_for(handshake.welcomed)
        except PeerRefused as refusal:
            self.refuse(refusal)
            return
        if answer:
            transport.write(answer)
        if handshake.welcomed is None:
            return
        self._over()
        if protocol is None:
            self._close(transport)
        else:
            hand_over(transport, protocol, handshake.take_rest())

    def connection_lost(self, _error: Exception | None) -> None:
        self._over()

    def abort(self) -> None:
        """Close now: the process ends."""
        if self._transport is not None:
            self._transport.abort()
        elif self._cut_off is not None:
            self._cut_off()

    @property
    def has_said_hello(self) -> bool:
        """Whether it has said who it is, proved or not."""
        return self._handshake is not None and self._handshake.hello is not None

    def refuse(self, refusal: PeerRefused) -> None:
        """Tell why, and close."""
        hello = None if self._handshake is None else self._handshake.hello
        self._host.note_refused(self._address, hello, refusal)
        self._over()
        if self._transport is None:
            self.abort()
            return
        if refusal.reason != "no_kproxy":
            self._transport.write(refusal_frame(refusal))
        self._close(self._transport)

    def _enter(self, address: str) -> None:
        self._address = address
        self._host.enter(self)
        delay_s = self._host.preamble_ms / 1000
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._time_is_up)

    def _close(self, transport: asyncio.Transport) -> None:
        close_behind_buffer(transport, patience_ms=_PATIENCE_MS)
        if self._cut_off is not None:  # TLS waits for the peer to say that it closes, too
            asyncio.get_running_loop().call_later(_PATIENCE_MS / 1000, transport.abort)

    def _time_is_up(self) -> None:
        self.refuse(PeerRefused("slow", f"it did not say who it is within {self._host.preamble_ms} ms"))

    def _over(self) -> None:
        self._handshake, self._is_over = None, True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._host.note_over(self)
