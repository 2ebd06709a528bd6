"""`SecuredConnection`: a client connection with TLS. It knows who the client is, and cannot be closed by half."""

import asyncio
from collections.abc import Callable
from typing import ClassVar, cast

from kproxy.errors import KproxyError
from kproxy.net.relay.limited_connection import LimitedConnection
from kproxy.net.relay.relay import Relay
from kproxy.security.principal import Principal

PrincipalOf = Callable[[bytes], Principal]
"""The principal for a client's certificate in DER. Raises NoMatchingRule, and ValueError for one it cannot read."""


class SecuredConnection(LimitedConnection):
    """A `LimitedConnection` whose handshake is done. `principal_of` is asked when the client showed a certificate."""

    __slots__ = ("_principal_of",)

    def __init__(self, relay: Relay, node_id: int, principal_of: PrincipalOf) -> None:
        super().__init__(relay, node_id)
        self._principal_of = principal_of

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if self.is_over:
            return
        certificate = transport.get_extra_info("ssl_object").getpeercert(binary_form=True)
        if certificate is None:
            return
        try:
            self.session.principal = self._principal_of(cast("bytes", certificate))
        except (KproxyError, ValueError) as unmapped:
            self._fail("client", "principal_unmapped", str(unmapped))


class SecuredConnectionBeside(SecuredConnection):
    """The same where there are ports in plaintext, too: those are what the rest of kproxy tells of."""

    is_relayed: ClassVar = True
    __slots__ = ()
