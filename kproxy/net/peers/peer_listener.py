"""`PeerListener`: the internal port, where other processes of the fleet ask about the groups that this one serves."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Final
from weakref import WeakSet

from kproxy.errors import PeerRefused
from kproxy.fleet.peer_handshake import Credentials, ListenerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, FleetIdentity, Hello, Purpose
from kproxy.net.dialing import TlsContext
from kproxy.net.peers.peer_connection import PeerConnection
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.reception import Reception
from kproxy.net.peers.secret import require_guard
from kproxy.net.peers.secured_port import SecuredPort
from kproxy.net.peers.views import Views, ViewService
from kproxy.net.relay.early_ports import BACKLOG
from kproxy.net.relay.listeners import PortUnavailable, Server, bound_sockets
from kproxy.net.relay.relay import Relay
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.peers")

MOST_REMEMBERED: Final = 100
"""Of those who were refused: what is the matter with one is a warning once, and after that at the level of debug."""


async def no_views(_path: str) -> tuple[int, bytes]:
    """Return that there is nothing to see."""
    return 404, b'{"error": "no views"}'


class PeerListener:
    """Lets nobody in but processes of the same fleet, which show a certificate, or prove the secret, or both.

    Args:
        relay: what connections of peers share, see `peer_relay`.
        identity: who this process is; None as long as it does not know its cluster.
        secret: what all processes of the fleet share, None for none.
        tls: the context for the next connection, which asks for a certificate; None for plaintext. On anything but a
            loopback address it needs this or a secret.
        limits: bounds of the preamble.
        views: answers paths of the admin port.
    """

    def __init__(
        self,
        relay: Relay,
        identity: Callable[[], FleetIdentity | None],
        secret: bytes | None,
        *,
        limits: PeerLimits,
        tls: TlsContext | None = None,
        views: Views = no_views,
    ) -> None:
        self.relay = relay
        self.views = views
        self._identity = identity
        self._secret = secret
        self._limits = limits
        self._tls = tls
        self._server: Server | None = None
        self._unproved: dict[Reception, None] = {}  # the oldest first
        self._view_services: WeakSet[ViewService] = WeakSet()
        self._told: dict[tuple[str, str], None] = {}

    @property
    def port(self) -> int:
        """The port that is bound."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def preamble_ms(self) -> int:
        """How long a preamble may take."""
        return self._limits.preamble_ms

    async def bind(self, address: HostPort) -> None:
        """Listen from now on.

        Raises:
            SecretUnusable: others than this machine could reach it, and there is no secret and no TLS.
            PortUnavailable: it cannot be bound.
        """
        require_guard(address, is_guarded=self._secret is not None or self._tls is not None)
        try:
            self._server = await self._serve(address)
        except (OSError, UnicodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise PortUnavailable(
                f"cannot listen on {address}: {reason}; change kproxy.fleet.listener"
            ) from error

    def stop_accepting(self) -> None:
        """Close the port, what is in its preamble, and views; connections whose requests are served stay."""
        if self._server is not None:
            self._server.close()
        for reception in tuple(self._unproved):
            reception.abort()
        for service in tuple(self._view_services):
            service.abort()

    async def _serve(self, address: HostPort) -> Server:
        if self._tls is None:
            loop = asyncio.get_running_loop()
            return await loop.create_server(
                lambda: Reception(self), address.host, address.port, backlog=BACKLOG
            )
        sockets = await bound_sockets(address.host, address.port)
        secured = SecuredPort(sockets, lambda: Reception(self), self._tls, self.relay.tasks)
        await secured.start_serving()
        return secured

    # ------------------------------------------------ `Host`: what receptions ask and tell

    def enter(self, reception: Reception) -> None:
        """Count a connection as one in its preamble."""
        if len(self._unproved) >= self._limits.most_unproved:
            self._make_room()
        self._unproved[reception] = None

    def begin(self) -> ListenerHandshake:
        """Return the handshake of a connection that can be spoken on. Raises PeerRefused when it cannot be received."""
        identity = self._identity()
        if identity is None:
            raise PeerRefused("starting", "this process does not know yet which cluster it belongs to")
        return ListenerHandshake(Credentials(identity, secrets.token_bytes(NONCE_BYTES), self._secret))

    def protocol_for(self, hello: Hello) -> asyncio.BaseProtocol | None:
        """Return what serves who is welcome; None when nothing more is to be said."""
        log.debug(
            "peer_welcome", name=hello.identity.name, purpose=hello.purpose.name, client=hello.client.address
        )
        if hello.purpose is Purpose.REQUESTS:
            return PeerConnection(self.relay, hello)
        if hello.purpose is Purpose.VIEWS:
            service = ViewService(self.views, self.relay.tasks, self._limits)
            self._view_services.add(service)
            return service
        return None

    def note_refused(self, address: str, hello: Hello | None, refusal: PeerRefused) -> None:
        """Count, and name in the log, who was refused."""
        self.relay.counting.count("peer_refusals", 1, refusal.reason)
        name = "?" if hello is None else hello.identity.name
        matter = (name if hello is not None else address.rpartition(":")[0], refusal.reason)
        tell = log.debug if matter in self._told else log.warning
        self._told[matter] = None
        if len(self._told) > MOST_REMEMBERED:
            del self._told[next(iter(self._told))]
        tell("peer_refused", name=name, peer=address, reason=refusal.reason, err=refusal)

    def note_over(self, reception: Reception) -> None:
        """Take note that a connection is in its preamble no more."""
        self._unproved.pop(reception, None)

    # ------------------------------------------------ private

    def _make_room(self) -> None:
        """Refuse the oldest of those who said nothing yet, else the oldest: whoever is of the fleet is quick."""
        silent = (reception for reception in self._unproved if not reception.has_said_hello)
        oldest = next(silent, None) or next(iter(self._unproved))
        most = self._limits.most_unproved
        oldest.refuse(PeerRefused("crowded", f"more than {most} have yet to say who they are"))
