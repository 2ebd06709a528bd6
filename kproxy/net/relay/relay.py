"""What all relayed connections share: the tables they route by, the limits they keep, and their counters."""

import asyncio
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final, Protocol

from kproxy.handlers.asked_rights import AskedRights
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.registry import Apis
from kproxy.handlers.request_context import AnswerBudget
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.interception.calls import AnyCall, PeerCall, UndecodedCall
from kproxy.interception.client_session import ClientSession
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.interception.topic_changes import TopicChange
from kproxy.net.counting import Counting
from kproxy.net.dialing import TlsContext
from kproxy.net.relay.added_times import AddedTimes
from kproxy.net.relay.admission import Admission
from kproxy.net.relay.answering import answer_call
from kproxy.net.relay.limits.connection_quotas import UNLIMITED, ConnectionQuotas
from kproxy.net.relay.limits.handshake_places import HandshakePlaces
from kproxy.net.relay.limits.listing_turns import ListingTurns
from kproxy.net.relay.limits.turn_shares import TurnShares
from kproxy.net.relay.listings import LISTINGS, answer_listing
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.read_buffer import ReadBuffer
from kproxy.net.relay.relayed_answers import NoPeers, Peers, RelayingClient, answer_from_peer
from kproxy.net.relay.traffic import Traffic
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.settings.addresses import HostPort
from kproxy.telemetry import logs

log = logs.logger("net.relay.relay")

WRITE_HIGH_WATER_BYTES: Final = 256 * 1024
"""A peer that reads slowly stops the other side once this much waits for it (per direction of a connection)."""

DEFAULT_BUDGET_BYTES: Final = 256 * 1024 * 1024
"""`kproxy.max.buffered.bytes` where nobody set it."""

_CLOSE_DELAY_SECONDS: Final = (0.05, 0.25)
"""After a violation or an unreachable broker: a client that reconnects at once would otherwise spin."""


class PortBinder(Protocol):
    """Opens the port of a virtual broker: `Listeners`, which make connections, and so stand above this module."""

    async def bind_newcomers(self, brokers: Iterable[BackingBroker]) -> None:
        """Return when every one of `brokers`, which a response names, has a port. Raises PortUnavailable."""
        ...


class ConnectionRights(AskedRights, Protocol):
    """What the client of one connection may do, as its broker says: `TwinRights`."""

    def close(self) -> None:
        """Learn nothing any more: the connection has ended."""
        ...


class OpenConnection(Protocol):
    """A client connection for those who look after all of them: `ClientConnection`, which stands above this module."""

    session: ClientSession
    transport: asyncio.Transport | None
    connection_id: int
    node_id: int
    peer: str

    @property
    def rights(self) -> ConnectionRights | None:
        """What its broker says of its client's rights; None for a client whose broker is not asked."""
        ...

    @property
    def buffered_bytes(self) -> int:
        """Bytes held for it, write buffers included."""
        ...

    @property
    def may_be_closed(self) -> bool:
        """Whether nobody owes anybody anything, and it is not being closed already."""
        ...

    def sweep(self, now_ms: int) -> None:
        """End it if it stalls or nobody is at its other end; keep a share member's twin alive."""
        ...

    def stop_reading(self) -> None:
        """Take no further requests."""
        ...

    def close(self) -> None:
        """Close both sides after what is buffered has left."""
        ...

    def abort(self) -> None:
        """Close both sides now."""
        ...


class OpenTwin(Protocol):
    """The connection to a broker that belongs to a client's: `UpstreamTwin`, which stands above this module."""

    @property
    def is_parting(self) -> bool:
        """Whether it takes no further requests, because its broker is elsewhere."""
        ...

    def look_for_broker(self, now_ms: int) -> None:
        """Where the broker is elsewhere by now, let the client come again: once nothing is owed, or soon."""
        ...

    def abort(self) -> None:
        """Close it now."""
        ...


@dataclass(frozen=True, slots=True)
class RelayLimits:
    """Bounds of one relayed connection. Times are milliseconds."""

    max_request_bytes: int
    connect_timeout_ms: int
    frame_deadline_ms: int
    """How long a frame that has begun may stand still, and what is left to be sent when a connection is closed."""
    keepalive_ms: int
    client_idle_ms: int = 600_000
    """How long a connection may be idle, and nothing be heard of a client before its twin is kept alive no more."""
    handshake_deadline_ms: int = 30_000
    """How long a client may take to send a whole request, and to prove who it is where it has to."""
    max_requests_per_second: int = UNLIMITED
    """How many requests of one client are read per second, on average."""


@dataclass(slots=True)
class Relay:
    """The context of every relayed connection.

    `upstream_addresses` returns the addresses to try for a node id (-1: the bootstrap servers), best first, each time
    anew, so that a broker that moved is found at its new place. `on_unreachable` is called when none of them answered.
    `on_topic_change` is called when an answer passes that tells of changed topics. `peers` are asked about groups that
    `routes.is_elsewhere` says other processes serve. `admission` says who may be answered at all.
    """

    routes: RoutingTable
    rewriter: ResponseRewriter
    limits: RelayLimits
    apis: Apis
    tasks: TaskKeeper
    counting: Counting
    upstream_addresses: Callable[[int], Sequence[HostPort]]
    binder: PortBinder | None = None
    peers: Peers = field(default_factory=NoPeers)
    on_unreachable: Callable[[], None] = lambda: None
    on_topic_change: Callable[[TopicChange], None] = lambda _: None
    connections: set[OpenConnection] = field(default_factory=set)
    twins: set[OpenTwin] = field(default_factory=set)
    ending: set[OpenConnection] = field(default_factory=set)
    """Those that are closed, and of which something is still served, or released durably."""
    unreachable: set[int] = field(default_factory=set)
    """Node ids of which the last dial failed."""
    budget: BufferBudget = field(default_factory=lambda: BufferBudget(DEFAULT_BUDGET_BYTES))
    reads: ReadBuffer = field(init=False)
    """What clients and brokers send is read into."""
    listings: ListingTurns = field(init=False)
    """In which long lists are made; those that peers ask for have others, for nobody waits for a peer there."""
    quotas: "ConnectionQuotas[OpenConnection]" = field(default_factory=ConnectionQuotas)
    handshakes: HandshakePlaces = field(default_factory=HandshakePlaces)
    """Of clients with TLS, at all ports."""
    traffic: Traffic = field(default_factory=Traffic)
    added: AddedTimes = field(default_factory=AddedTimes)
    broker_tls: TlsContext | None = None
    """What twins are encrypted with; None for plaintext."""
    connection_ids: Iterator[int] = field(default_factory=lambda: count(1))
    """Numbers for connections; shared by all relays of a process."""
    admission: Admission = field(default_factory=Admission)
    turns: WakingTurns = field(default_factory=WakingTurns)
    """In which requests begin to be answered; shared with fetches that are woken."""
    shares: TurnShares = field(default_factory=TurnShares)
    """How much is done at once in a turn of the loop, of all that comes."""
    new_rights: Callable[[ClientSession, Callable[[], None]], ConnectionRights | None] = lambda *_: None
    """Makes what asks the broker of a session about rights; None where no broker is to be asked."""

    def __post_init__(self) -> None:
        self.reads = ReadBuffer(self.budget)
        self.listings = ListingTurns(self.budget)

    def new_session(self) -> ClientSession:
        """Return a session for a new client connection."""
        return ClientSession(
            self.routes,
            self.rewriter,
            max_request_bytes=self.limits.max_request_bytes,
            request_counts=self.traffic.requests,
            on_topic_change=self.on_topic_change,
            sasl=self.admission.new_watch(),
            share=self.shares,
        )

    def next_connection_id(self) -> int:
        """Return a number no other connection of this process has."""
        return next(self.connection_ids)

    def note_unreachable(self, node_id: int) -> bool:
        """Take note that no address of a broker answered; tell whether that is news.

        While it lasts, every client comes back again and again, and is counted.
        """
        is_news = node_id not in self.unreachable
        self.unreachable.add(node_id)
        self.on_unreachable()
        return is_news

    def note_broker_lost(self, connection: OpenConnection, error: Exception | None) -> None:
        """Take note that a broker closed, or lost, its side of a connection that is closed now."""
        reason = "lost_mid_frame" if connection.session.responses.is_mid_frame else "lost"
        tell = log.debug
        if connection.session.owed_responses:
            self.counting.count("connection_errors", 1, "broker", reason)
            tell = log.info
        tell("broker_disconnected", peer=connection.peer, node=connection.node_id, reason=reason, err=error)

    async def answer(self, client: RelayingClient, call: AnyCall, budget: AnswerBudget) -> int:
        """Answer `call` here or with what a peer answers; see `answer_call` and `answer_from_peer`.

        Raises:
            PeerViolation: by a client that has not authenticated, or not again in time, and by the request.
            PeerFailure: see `answer_from_peer`.
            BrokerFailure: see `answer_listing`.
        """
        self.admission.admit(client, self.counting)
        if isinstance(call, PeerCall):
            return await answer_from_peer(client, call, self.apis, self.peers, budget)
        if isinstance(call, UndecodedCall):
            if call.is_large:
                await let_others_go_on()
            call = call.decoded()
        if call.request.api_key in LISTINGS:
            await answer_listing(client, call, self.apis, budget, self.listings)
            return 0
        return await answer_call(client, call, self.apis, budget)

    def client_left(self, connection: OpenConnection) -> None:
        """Take note that its client is gone; what that had sent may be served still, until `end`."""
        self.connections.discard(connection)
        self.ending.add(connection)

    def end(self, connection: OpenConnection, *, is_share_member: bool) -> None:
        """Release what the client held; the connection has ended when that is durable, or was refused."""
        self.apis.forsake(connection.connection_id)
        self.peers.close(connection.connection_id)
        self.listings.forsake(connection.connection_id)
        if connection.rights is not None:
            connection.rights.close()
        if not is_share_member:
            self.ending.discard(connection)
            return
        release = self.apis.connection_closed(connection.connection_id)
        task = self.tasks.spawn(release, name=f"release for {connection.peer}")
        task.add_done_callback(lambda _: self.ending.discard(connection))

    @staticmethod
    def close_delay_seconds() -> float:
        """Return how long to wait before a faulty connection is closed."""
        return random.uniform(*_CLOSE_DELAY_SECONDS)  # noqa: S311 - jitter, not a secret

    @property
    def open_twins(self) -> int:
        """How many connections to brokers are open."""
        return self.traffic.open_twins

    def open_connections(self) -> Mapping[tuple[str, ...], float]:
        """Return how many connections are open, by side."""
        return {("client",): len(self.connections), ("broker",): self.traffic.open_twins}

    def buffered_bytes(self) -> int:
        """Return how many bytes all connections hold, write buffers included."""
        return sum(connection.buffered_bytes for connection in self.connections)
