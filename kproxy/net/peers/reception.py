"""`Reception`: a connection to the internal listener in its preamble."""

import asyncio
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

    def begin(self, reception: "Reception") -> ListenerHandshake:
        """Return the handshake of a connection that was just made. Raises PeerRefused."""
        ...

    def protocol_for(self, hello: Hello) -> asyncio.Protocol | None:
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
    """Says who this process is, hears who dials, and hands the connection over or closes it."""

    __slots__ = ("_address", "_handshake", "_host", "_timer", "_transport")

    def __init__(self, host: Host) -> None:
        self._host = host
        self._address = "?"
        self._transport: asyncio.Transport | None = None
        self._handshake: ListenerHandshake | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        host, port, *_ = transport.get_extra_info("peername") or ("?", 0)
        self._address = f"{host}:{port}"
        watch_peer(transport)
        try:
            self._handshake = self._host.begin(self)
        except PeerRefused as refusal:
            self.refuse(refusal)
            return
        delay_s = self._host.preamble_ms / 1000
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._time_is_up)

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
            close_behind_buffer(transport, patience_ms=_PATIENCE_MS)
        else:
            hand_over(transport, protocol, handshake.take_rest())

    def connection_lost(self, _error: Exception | None) -> None:
        self._over()

    def abort(self) -> None:
        """Close now: the process ends."""
        if self._transport is not None:
            self._transport.abort()

    @property
    def has_said_hello(self) -> bool:
        """Whether it has said who it is, proved or not."""
        return self._handshake is not None and self._handshake.hello is not None

    def refuse(self, refusal: PeerRefused) -> None:
        """Tell why, and close."""
        hello = None if self._handshake is None else self._handshake.hello
        self._host.note_refused(self._address, hello, refusal)
        self._over()
        if self._transport is not None:
            if refusal.reason != "no_kproxy":
                self._transport.write(refusal_frame(refusal))
            close_behind_buffer(self._transport, patience_ms=_PATIENCE_MS)

    def _time_is_up(self) -> None:
        self.refuse(PeerRefused("slow", f"it did not say who it is within {self._host.preamble_ms} ms"))

    def _over(self) -> None:
        self._handshake = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._host.note_over(self)
