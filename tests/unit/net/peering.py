"""Two processes of a fleet on loopback sockets: one that relays, and one that owns groups."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self, cast

from kproxy.fleet.owners import Peer
from kproxy.fleet.peer_handshake import Credentials, ListenerHandshake
from kproxy.fleet.peer_hello import NONCE_BYTES, FleetIdentity
from kproxy.handlers.registry import ServedApi
from kproxy.net.broker_failures import PeerFailure
from kproxy.net.dialing import TlsContext
from kproxy.net.peers.peer_connection import peer_relay
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_listener import PeerListener
from kproxy.net.peers.peer_twin import PeerTraffic, PeerTwin
from kproxy.net.peers.peer_twins import PeerTwins
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import ReadBuffer
from kproxy.net.relay.relay import DEFAULT_BUDGET_BYTES
from kproxy.net.relay.sweeper import Sweeper
from kproxy.settings import HostPort
from kproxy.wire import codecs
from kproxy.wire.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from tests.in_memory.scripted_broker import ScriptedBroker
from tests.unit.net.relaying import BIND_HOST, ParkedApis, RelayUnderTest
from tests.worlds.backing import CountedThings
from tests.worlds.share_group_world import ShareGroupWorld

IDENTITY: Final = FleetIdentity(
    "cluster-1", "__kproxy_share_state", 2, 16, "__kproxy_share_state", "token-a", "a"
)
IDENTITY_B: Final = replace(IDENTITY, token="token-b", name="b")
SECRET: Final = b"the secret of this fleet"


class MeasuredThings(CountedThings):
    """Counters and observations in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.observed: list[tuple[str, ...]] = []

    def observe(self, histogram: str, value: float, *labels: str) -> None:
        """Note that there was an observation."""
        assert value >= 0
        self.observed.append((histogram, *labels))


class ScriptedOwners:
    """A `GroupOwners`: whom the test says, by group id."""

    def __init__(self) -> None:
        self.by_group: dict[str, Peer] = {}
        self.is_sure = True
        """Whether the process may rely on it."""

    def peer_of_group(self, group_id: str) -> Peer | None:
        """Return the peer of a group; None for those that are served here."""
        return self.by_group.get(group_id)

    def peers(self) -> Sequence[Peer]:
        """Return all of them."""
        return list(dict.fromkeys(self.by_group.values()))


def share_entries() -> Sequence[ServedApi]:
    """Return all APIs of share groups, whole and in part, as the application registers them."""
    apis = ShareGroupWorld().groups.apis
    return [*apis.entries, *apis.partial_entries]


class OwnerUnderTest:
    """A process that owns groups, without ports for clients. Its answers wait until the test lets them go."""

    def __init__(
        self,
        name: str = "b",
        *,
        secret: bytes | None = None,
        identity: FleetIdentity | None = None,
        limits: PeerLimits | None = None,
        tls: TlsContext | None = None,
        bind_host: str = BIND_HOST,
        **relay_limits: int,
    ) -> None:
        self._bind_host = bind_host
        self._base = RelayUnderTest(1, **relay_limits)
        self.identity: FleetIdentity | None = identity or replace(IDENTITY, token=f"token-{name}", name=name)
        self.apis: ParkedApis = self._base.apis
        self.counted = self._base.counted
        self.relay = peer_relay(self._base.relay, share_entries(), self.apis)
        self.listener = PeerListener(
            self.relay, lambda: self.identity, secret, limits=limits or PeerLimits(), tls=tls
        )
        self.sweeper = Sweeper(self.relay, standing_bytes=lambda: 0)
        self._name = name

    @property
    def peer(self) -> Peer:
        """It, as others know it."""
        token = f"token-{self._name}" if self.identity is None else self.identity.token
        return Peer(token, self._name, BIND_HOST, self.listener.port)

    async def __aenter__(self) -> Self:
        await self.listener.bind(HostPort(self._bind_host, 0))
        self._base.tasks.keep_up(self.sweeper.run, name="sweeper")
        return self

    async def __aexit__(self, *_: object) -> None:
        self.listener.stop_accepting()
        self.sweeper.cut_off()
        await self._base.tasks.close()


def dialler(
    *,
    secret: bytes | None = None,
    limits: PeerLimits | None = None,
    tls: TlsContext | None = None,
    **identity: Any,
) -> PeerDialler:
    """Return what dials for the process that relays, of an identity that may differ."""
    own = replace(IDENTITY, **identity)
    return PeerDialler(lambda: own, secret, limits or PeerLimits(), tls)


class RelayingProcess(RelayUnderTest):
    """A process with clients, which relays what `owners` say."""

    def __init__(
        self,
        upstream_port: int,
        *,
        limits: PeerLimits | None = None,
        secret: bytes | None = None,
        tls: TlsContext | None = None,
        **relay_limits: int,
    ) -> None:
        super().__init__(upstream_port, **relay_limits)
        self.owners = ScriptedOwners()
        self.measured = MeasuredThings()
        self.twins = PeerTwins(
            self.owners,
            dialler(secret=secret, limits=limits, tls=tls),
            limits=limits or PeerLimits(),
            measuring=self.measured,
            is_sure=lambda: self.owners.is_sure,
        )
        self.relay.peers = self.twins
        self.twins.reads = self.relay.reads
        self.relay.routes.is_elsewhere = self.twins.is_elsewhere

    async def __aexit__(self, *arguments: object) -> None:
        self.twins.abort()
        await super().__aexit__(*arguments)


def a_twin() -> PeerTwin:
    """Return a connection to peer `b` that is yet to be made."""
    return PeerTwin("b", PeerLimits(), PeerTraffic(), ReadBuffer(BufferBudget(DEFAULT_BUDGET_BYTES)))


def fetch_of(group_id: str, correlation_id: int, *, max_wait_ms: int = 0, version: int = 1) -> bytes:
    """Return a ShareFetch."""
    message = ShareFetchRequest(group_id=group_id, member_id="m", max_wait_ms=max_wait_ms)
    return b"".join(codecs.encode_request(78, version, correlation_id, "client", message))


def heartbeat_of(group_id: str, correlation_id: int) -> bytes:
    """Return a ShareGroupHeartbeat."""
    message = ShareGroupHeartbeatRequest(group_id=group_id, member_id="m")
    return b"".join(codecs.encode_request(76, 1, correlation_id, "client", message))


def acknowledgement_of(group_id: str, correlation_id: int) -> bytes:
    """Return a ShareAcknowledge."""
    message = ShareAcknowledgeRequest(group_id=group_id, member_id="m")
    return b"".join(codecs.encode_request(79, 1, correlation_id, "client", message))


class TakenAnswer:
    """What came of an answer, and how it ended."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = 0
        self.failure: PeerFailure | None = None

    def receive(self, data: bytes | memoryview) -> None:
        """Keep a part."""
        self.data += data

    def end(self) -> None:
        """Count how often it was whole."""
        self.ended += 1

    def lose(self, failure: PeerFailure) -> None:
        """Keep why it was lost."""
        self.failure = failure


class ScriptedPeer:
    """A listener that welcomes everybody and then says what a test tells it."""

    def __init__(self, identity: FleetIdentity = IDENTITY_B) -> None:
        self._own = identity
        self._server: asyncio.Server | None = None
        self.connections: list[ScriptedEnd] = []
        self.reply = b""
        """What it says whenever something came."""

    @property
    def peer(self) -> Peer:
        """It, as others know it."""
        assert self._server is not None
        port = int(self._server.sockets[0].getsockname()[1])
        return Peer(self._own.token, self._own.name, BIND_HOST, port)

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._new_end, BIND_HOST, 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for end in self.connections:
            end.transport.abort()

    def _new_end(self) -> "ScriptedEnd":
        end = ScriptedEnd(Credentials(self._own, bytes(NONCE_BYTES)), self)
        self.connections.append(end)
        return end


class ScriptedEnd(asyncio.Protocol):
    """One connection to a `ScriptedPeer`."""

    transport: asyncio.Transport

    def __init__(self, own: Credentials, peer: ScriptedPeer) -> None:
        self._handshake = ListenerHandshake(own)
        self._peer = peer
        self.received = b""
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._handshake.welcomed is None:
            self.transport.write(self._handshake.receive(data))
        else:
            self.received += data
            self.transport.write(self._peer.reply)

    def connection_lost(self, _error: Exception | None) -> None:
        self.is_lost = True


class Fleet:
    """A process with clients, in front of a scripted broker, and one that owns the group `far`."""

    def __init__(self, *, limits: PeerLimits | None = None, **relay_limits: Any) -> None:
        self._limits = limits
        self._relay_limits = relay_limits
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self.broker = await self._stack.enter_async_context(ScriptedBroker())
        self.owner = await self._stack.enter_async_context(OwnerUnderTest())
        process = RelayingProcess(self.broker.port, limits=self._limits, **self._relay_limits)
        self.process = await self._stack.enter_async_context(process)
        self.process.owners.by_group["far"] = self.owner.peer
        self.process.apis.may_answer.set()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)


async def frame_from(reader: asyncio.StreamReader) -> bytes:
    """Return the next frame, without its length."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def fetched(frame: bytes) -> tuple[int, bytes]:
    """Return the correlation id and the records of a ShareFetch's answer."""
    correlation_id, message = codecs.decode_response(78, 1, frame)
    assert isinstance(message, ShareFetchResponse)
    return correlation_id, b"".join(
        bytes(part.records or b"") for topic in message.responses for part in topic.partitions
    )


def number_of(frame: bytes) -> int:
    """Return the correlation id of an answer."""
    return int.from_bytes(frame[:4], "big")
