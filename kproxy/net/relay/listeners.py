"""The ports: one for bootstrapping, and one per backing broker, bound before a client can learn of it.

Whoever connects before kproxy knows what it serves waits in the operating system's queue of connections (backlog).

A port once bound stays bound. Metadata leaves out a broker that merely restarts, and its clients go on dialling.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from kproxy.errors import KproxyError
from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker, BrokerAddresses
from kproxy.net.advertised_host import warn_if_unknown
from kproxy.net.dialing import TlsContext
from kproxy.net.relay.early_ports import BACKLOG, EarlyPorts
from kproxy.net.relay.limited_connection import LimitedConnection
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.secured_connection import SecuredConnection
from kproxy.net.relay.tls_port import TlsPort
from kproxy.settings.addresses import NODE_ID_PLACE
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.telemetry import logs

log = logs.logger("net.relay.listeners")

HOLD_SECONDS: Final = 5.0
"""How long newcomers, and responses that name a new broker, wait for the start to be over."""
_MAX_PORT = 65535


class PortUnavailable(KproxyError):
    """A port cannot be bound.

    At start `kproxy run` prints it and exits; later the response that needs the port is not sent.
    """


@dataclass(frozen=True, slots=True)
class PortPlan:
    """Which port belongs to which node id, and what clients are told.

    `broker_port_map` wins over `broker_port_start + node id`. `$(nodeId)` in `advertised_host` stands for the node id.
    """

    bind_host: str
    bootstrap_port: int
    broker_port_start: int
    advertised_host: str
    broker_port_map: Mapping[int, int] = field(default_factory=dict)
    prefix: str = "kproxy."
    """Of the keys that the plan is made of, for messages."""

    def host_of(self, node_id: int) -> str:
        """Return the host that clients are told for `node_id`."""
        return self.advertised_host.replace(NODE_ID_PLACE, str(node_id))

    def port_of(self, node_id: int) -> int:
        """Return the port for `node_id`. Raises PortUnavailable when the number cannot be a port."""
        port = self.broker_port_map.get(node_id, self.broker_port_start + node_id)
        if not 0 < port <= _MAX_PORT:
            raise PortUnavailable(
                f"broker {node_id} would get port {port}, which does not exist; "
                f"lower {self.prefix}broker.port.start or name it in {self.prefix}broker.port.map"
            )
        return port


class Server(Protocol):
    """A port that is bound: `asyncio.Server` or `TlsPort`."""

    @property
    def sockets(self) -> Sequence[socket.socket]:
        """What listens; none after `close`."""
        ...

    async def start_serving(self) -> None:
        """Accept connections."""
        ...

    def close(self) -> None:
        """Accept none any more; those that are open stay."""
        ...


@dataclass(frozen=True, slots=True)
class SecuredPorts:
    """What ports with TLS need: the context of the moment, and a connection for a port of a node id."""

    tls: TlsContext
    connection: Callable[[Relay, int], SecuredConnection]


class Listeners:
    """Binds ports and remembers what they stand for. Those of `early` that no broker needs are closed in the end.

    With `secured` they speak TLS.
    """

    def __init__(
        self,
        plan: PortPlan,
        relay: Relay,
        addresses: BrokerAddresses,
        *,
        early: EarlyPorts | None = None,
        secured: SecuredPorts | None = None,
    ) -> None:
        self._secured = secured
        self._early = EarlyPorts() if early is None else early
        self._plan = plan
        self._relay = relay
        self._addresses = addresses
        self._servers: dict[int, Server] = {}
        self._ports: dict[int, int] = {}
        self._binding = asyncio.Lock()
        self._is_first_bind_over = asyncio.Event()
        self._is_first_bind_over.set()
        self._are_admitted = True
        self._brokers: dict[int, BackingBroker] = {}
        self._looked_up: set[str] = set()

    @property
    def bound_ports(self) -> Mapping[int, int]:
        """Return port by node id; -1 is the bootstrap port. After `stop_accepting` they are the same still."""
        return self._ports

    @property
    def backing_brokers(self) -> Mapping[int, BackingBroker]:
        """Return the broker behind each port by node id, at the address where it was last seen."""
        return self._brokers

    async def bind_bootstrap(self) -> None:
        """Open the bootstrap port; who connects while newcomers are held is accepted later. Raises PortUnavailable."""
        await self._listen(BOOTSTRAP_NODE_ID, self._plan.bootstrap_port, f"{self._plan.prefix}listen")

    def hold_newcomers(self) -> None:
        """Let `bind_newcomers` wait for the next `bind`, up to 5 s, and clients that connect for `admit_newcomers`.

        Before kproxy knows what it serves it must neither say so nor open the port that a share consumer would ask.
        """
        self._is_first_bind_over.clear()
        self._are_admitted = False

    async def admit_newcomers(self) -> None:
        """Accept clients as soon as the first `bind` begins, or after 5 s; return then.

        After 5 s those who wait at the port of a broker are cut off: nobody knows where that broker is.
        """
        try:
            await asyncio.wait_for(self._is_first_bind_over.wait(), HOLD_SECONDS)
        except TimeoutError:
            self._early.close()
        self._are_admitted = True
        for server in tuple(self._servers.values()):
            if server.sockets:  # of a server that was closed there are none
                await server.start_serving()

    async def bind(self, brokers: Iterable[BackingBroker]) -> None:
        """Return when each of `brokers` has its port and its address may be told; from now on they are dialled there.

        For brokers as the cluster's own metadata names them.

        Raises:
            PortUnavailable: some have none; all others have.
        """
        moved = {broker.node_id: broker for broker in brokers}
        self._brokers.update(moved)
        self._is_first_bind_over.set()
        try:
            await self._open_ports(moved.values())
        finally:
            self._early.close()

    async def follow(self, brokers: Iterable[BackingBroker]) -> None:
        """Do the same for brokers that joined or moved meanwhile; of one without a port the log tells, and `/readyz`.

        It is tried again when a response to a client names that broker.
        """
        try:
            await self.bind(brokers)
        except PortUnavailable as failure:
            log.error("port_unavailable", err=failure)  # noqa: TRY400 - what it says is enough, a trace would tell no more

    async def bind_newcomers(self, brokers: Iterable[BackingBroker]) -> None:
        """Do the same for brokers that a response to a client names, which may be older than what is known.

        One that is known stays where it is, unless it is in doubt.

        Raises:
            PortUnavailable: some have no port; all others have.
        """
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_first_bind_over.wait(), HOLD_SECONDS)
        newcomers = {broker.node_id: broker for broker in brokers}
        certain = {
            node_id: broker
            for node_id, broker in self._brokers.items()
            if not self._addresses.is_in_doubt(node_id)
        }
        self._brokers.update({**newcomers, **certain})
        await self._open_ports(newcomers.values())

    async def _open_ports(self, brokers: Iterable[BackingBroker]) -> None:
        failures: list[PortUnavailable] = []
        async with self._binding:
            for broker in brokers:
                try:
                    await self._open_port(broker)
                except PortUnavailable as failure:
                    failures.append(failure)
        if failures:
            raise PortUnavailable("; ".join(map(str, failures)))

    async def _open_port(self, broker: BackingBroker) -> None:
        if broker.node_id not in self._servers:
            port = self._plan.port_of(broker.node_id)
            await self._listen(broker.node_id, port, f"{self._plan.prefix}broker.port.start")
            log.info(
                "broker_port_bound", node=broker.node_id, port=port, broker=f"{broker.host}:{broker.port}"
            )
            self._look_up(self._plan.host_of(broker.node_id))
        address = AdvertisedAddress(self._plan.host_of(broker.node_id), self.bound_ports[broker.node_id])
        self._addresses.advertise(broker.node_id, address)

    def _look_up(self, host: str) -> None:
        """Let the log say once, in a while, if there is no such host; nothing waits for that."""
        if host not in self._looked_up:
            self._looked_up.add(host)
            self._relay.tasks.spawn(warn_if_unknown(host), name=f"look up {host}")

    async def stop_accepting(self) -> None:
        """Close every port; connections that are open stay."""
        self._early.close()
        for server in self._servers.values():
            server.close()

    async def _listen(self, node_id: int, port: int, setting: str) -> None:
        accepts_at_once = self._are_admitted or self._is_first_bind_over.is_set()
        try:
            server = await self._serve(node_id, port, accepts_at_once=accepts_at_once)
            if not accepts_at_once:
                _let_connect(server)
        except (OSError, UnicodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or error
            raise PortUnavailable(
                f"cannot listen on {self._plan.bind_host}:{port}: {reason}; change {setting}"
            ) from error
        self._servers[node_id] = server
        self._ports[node_id] = server.sockets[0].getsockname()[1]

    async def _serve(self, node_id: int, port: int, *, accepts_at_once: bool) -> Server:
        """Take the port over if it listens already, else bind it. Raises OSError."""
        if self._secured is not None:
            return await self._serve_secured(self._secured, node_id, port, accepts_at_once=accepts_at_once)
        loop, host = asyncio.get_running_loop(), self._plan.bind_host

        def connection() -> LimitedConnection:
            return LimitedConnection(self._relay, node_id)

        early = self._early.take(host, port)
        if early is not None:
            return await loop.create_server(
                connection, sock=early, backlog=BACKLOG, start_serving=accepts_at_once
            )
        return await loop.create_server(
            connection, host, port, backlog=BACKLOG, start_serving=accepts_at_once
        )

    async def _serve_secured(
        self, secured: SecuredPorts, node_id: int, port: int, *, accepts_at_once: bool
    ) -> TlsPort:
        early = self._early.take(self._plan.bind_host, port)
        server = TlsPort(
            await bound_sockets(self._plan.bind_host, port) if early is None else [early],
            lambda: secured.connection(self._relay, node_id),
            secured.tls,
            tasks=self._relay.tasks,
            counting=self._relay.counting,
            places=self._relay.handshakes,
        )
        _let_connect(server)
        if accepts_at_once:
            await server.start_serving()
        return server


async def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets bound to every address of `host`, as an event loop binds them. Raises OSError."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, host, port, start_serving=False)
    try:
        return [socket.socket(fileno=os.dup(bound.fileno())) for bound in server.sockets]
    finally:
        server.close()


def _let_connect(server: Server) -> None:
    """Let clients connect to a server that accepts nobody yet: they wait in its backlog, and so does what they send."""
    for bound in server.sockets:
        with socket.socket(fileno=os.dup(bound.fileno())) as listening:
            listening.listen(BACKLOG)
