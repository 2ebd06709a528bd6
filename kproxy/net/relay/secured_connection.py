"""`SecuredConnection`: a client connection with TLS. It knows who the client is, and cannot be closed by half."""

import asyncio
from collections.abc import Callable
from typing import ClassVar, cast

from kproxy.errors import KproxyError
from kproxy.net.relay.limited_connection import LimitedConnection
from kproxy.net.relay.paced_transport import PacedTransport
from kproxy.net.relay.relay import Relay
from kproxy.security.principal import Principal

PrincipalOf = Callable[[bytes], Principal]
"""The principal for a client's certificate in DER. Raises NoMatchingRule, and ValueError for one it cannot read."""


class SecuredConnection(LimitedConnection):
    """A `LimitedConnection` whose handshake is done. `principal_of` is asked when the client showed a certificate."""

    __slots__ = ("_closing_since_ms", "_paced", "_principal_of")

    def __init__(self, relay: Relay, node_id: int, principal_of: PrincipalOf) -> None:
        super().__init__(relay, node_id)
        self._principal_of = principal_of
        self._closing_since_ms: int | None = None
        self._paced: PacedTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._paced = PacedTransport(
            cast("asyncio.Transport", transport),
            on_full=super().pause_writing,
            on_taken=super().resume_writing,
        )
        super().connection_made(self._paced)
        if self.is_over:
            return
        certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if certificate is None:
            return
        try:
            self.session.principal = self._principal_of(cast("bytes", certificate))
        except (KproxyError, ValueError) as unmapped:
            self._fail("client", "principal_unmapped", str(unmapped))

    def pause_writing(self) -> None:
        """Do nothing: the paced transport looks for itself."""

    def resume_writing(self) -> None:
        if self._paced is not None:
            self._paced.go_on()

    def connection_lost(self, error: Exception | None) -> None:
        if self._paced is not None:
            self._paced.forget()
        super().connection_lost(error)

    def eof_received(self) -> bool:
        """Close: to TLS the client's last word is the end of both directions, as it is to brokers.

        What it sent before is served, and an answer that is still owed, or has yet to be encrypted, is not waited for.
        """
        super().eof_received()
        if self._paced is not None:
            self._paced.end()
        return False

    def sweep(self, now_ms: int) -> None:
        """Do as for every connection, and end one that its client does not let go of."""
        if self.transport is None or not self.transport.is_closing():
            super().sweep(now_ms)
            return
        if self.transport.get_write_buffer_size():  # `close_behind_buffer` sees whether it becomes less
            return
        self._closing_since_ms = self._closing_since_ms or now_ms
        # The transport waits for its bytes to be taken, and behind its own deadline for nothing but that.
        if now_ms - self._closing_since_ms > 2 * self._relay.limits.frame_deadline_ms:
            self.transport.abort()


class SecuredConnectionBeside(SecuredConnection):
    """The same where there are ports in plaintext, too: those are what the rest of kproxy tells of."""

    is_relayed: ClassVar = True
    __slots__ = ()
