"""`PeerDialler`: opens connections to other kproxy processes, and says who this one is."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Final, Generic, TypeVar, cast

from kproxy.errors import PeerRefused
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_handshake import Credentials, DiallerHandshake
from kproxy.fleet.peer_hello import NO_CLIENT, NONCE_BYTES, FleetIdentity, Hello, Purpose, RelayedClient
from kproxy.net.broker_failures import BrokerFailure, PeerFailure
from kproxy.net.dialing import TlsContext, connect
from kproxy.net.peers.dial_turns import DialTurns
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.sockets import watch_peer
from kproxy.net.relay.sparing_protocol import SparingProtocol
from kproxy.net.tls.handshakes import failure_with_peer, is_refusal
from kproxy.net.tls.paced_transport import is_tls
from kproxy.settings.addresses import HostPort

KNOWN_REASONS: Final = frozenset(
    [
        "another_process",
        "cluster",
        "crowded",
        "fleet_group",
        "lost",
        "malformed",
        "no_kproxy",
        "protocol",
        "secret",
        "slot_count",
        "slow",
        "starting",
        "state_format",
        "state_topic",
    ]
)
"""Those of PeerRefused. A peer says what it likes, and reasons are labels of metrics: others count as `refused`."""

P = TypeVar("P", bound=asyncio.BaseProtocol)


class PeerDialler:
    """Dials for one process.

    Args:
        identity: who it is; None as long as it does not know its cluster.
        secret: what all processes of the fleet share, None for none.
        limits: how long it all may take.
        tls: the context for the next connection, with the certificate of this process; None for plaintext.
    """

    def __init__(
        self,
        identity: Callable[[], FleetIdentity | None],
        secret: bytes | None,
        limits: PeerLimits,
        tls: TlsContext | None = None,
    ) -> None:
        self._identity = identity
        self._secret = secret
        self._limits = limits
        self._tls = tls
        self._turns = DialTurns(limits.most_dials)

    async def open(
        self,
        peer: Peer,
        purpose: Purpose,
        make_protocol: Callable[[], P],
        *,
        client: RelayedClient = NO_CLIENT,
    ) -> P:
        """Return the protocol of a new connection to `peer`, which has said that this process is welcome.

        An empty token of `peer` stands for whoever answers there.

        Raises:
            PeerFailure: the text names the peer, and says what happened.
        """
        introduction = Introduction(self._handshake(peer, purpose, client), make_protocol)
        try:
            address = HostPort(peer.host, peer.port)
            async with self._turns.turn(address, self._limits.connect_timeout_ms) as left_ms:
                await connect(
                    address,
                    lambda: introduction,
                    timeout_ms=left_ms,
                    tls=self._tls,
                    failure_of=failure_with_peer,
                )
                async with asyncio.timeout(self._limits.preamble_ms / 1000):
                    return introduction.taken(await introduction.over)
        except BrokerFailure as failure:
            raise PeerFailure(failure.reason, f"{peer.name}: {failure.detail}") from failure
        except PeerRefused as refusal:
            reason = refusal.reason if refusal.reason in KNOWN_REASONS else "refused"
            raise PeerFailure(reason, f"{peer.name} at {peer.host}:{peer.port}: {refusal}") from refusal
        except TimeoutError:
            detail = (
                f"{peer.name} at {peer.host}:{peer.port} said no welcome within {self._limits.preamble_ms} ms"
            )
            raise PeerFailure("slow", detail) from None
        finally:
            introduction.give_up()

    async def visit(self, profile: MemberProfile) -> None:
        """See whether a member of the fleet welcomes this process: for `ReachCheck`. Raises PeerFailure."""
        peer = Peer(profile.token, profile.name, profile.host, profile.port)
        (await self.open(peer, Purpose.REACH, Visit)).leave()

    def _handshake(self, peer: Peer, purpose: Purpose, client: RelayedClient) -> DiallerHandshake:
        identity = self._identity()
        if identity is None:
            raise PeerFailure("starting", "this process does not know yet which cluster it belongs to")
        own = Credentials(identity, secrets.token_bytes(NONCE_BYTES), self._secret)
        hello = Hello(purpose, identity, own.nonce, client)
        return DiallerHandshake(own, hello, expected_token=peer.token)


class Visit(asyncio.Protocol):
    """A connection that was welcome, and serves no other purpose."""

    def __init__(self) -> None:
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def leave(self) -> None:
        """Close it."""
        if self._transport is not None:
            self._transport.close()


class Introduction(asyncio.Protocol, Generic[P]):
    """A connection in its preamble, as who dials sees it; then what `make_protocol` makes has it."""

    def __init__(self, handshake: DiallerHandshake, make_protocol: Callable[[], P]) -> None:
        self._handshake = handshake
        self._make_protocol = make_protocol
        self._transport: asyncio.Transport | None = None
        self._is_taken = False
        self.over: asyncio.Future[P] = asyncio.get_running_loop().create_future()
        """Done when the connection is handed over; raises PeerRefused."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        watch_peer(self._transport)
        self._transport.write(self._handshake.begin())

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        if self.over.done():
            return
        try:
            answer = self._handshake.receive(data)
        except PeerRefused as refusal:
            self.over.set_exception(refusal)
            return
        if answer:
            self._transport.write(answer)
        if self._handshake.is_welcome:
            self.over.set_result(
                hand_over(self._transport, self._make_protocol(), self._handshake.take_rest())
            )

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(PeerRefused("lost", self._why_lost(error)))

    def _why_lost(self, error: Exception | None) -> str:
        if is_refusal(error):
            assert error is not None
            return failure_with_peer(error).detail
        reason = f": {error}" if error is not None else ""
        is_secured = self._transport is not None and is_tls(self._transport)
        hint = "not trust the certificate of this process" if is_secured else "speak TLS"
        return (
            f"it closed the connection without a welcome{reason}; it may {hint}: "
            "all processes of a fleet need the same kproxy.fleet.ssl.*"
        )

    def taken(self, protocol: P) -> P:
        """Take note that somebody has the connection now, and return `protocol`."""
        self._is_taken = True
        return protocol

    def give_up(self) -> None:
        """Close the connection unless somebody has taken it: who dialled may have been cancelled at the last moment."""
        self.over.cancel()
        if self._transport is not None and not self._is_taken:
            self._transport.abort()


def hand_over(transport: asyncio.Transport, protocol: P, rest: bytes) -> P:
    """Let `protocol` have `transport` from now on, and what came on it already."""
    transport.set_protocol(protocol)
    protocol.connection_made(transport)
    if rest and isinstance(protocol, asyncio.Protocol | SparingProtocol):
        protocol.data_received(rest)
    return protocol
