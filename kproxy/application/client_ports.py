"""`ClientPorts`: all ports for clients, of one kind or of two: plaintext and, beside it, TLS."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kproxy.application.tls_parts import TlsParts
from kproxy.interception.broker_addresses import AdvertisedAddress, BackingBroker, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.net.relay.early_ports import EarlyPorts, tls_addresses
from kproxy.net.relay.listeners import Listeners, PortPlan, SecuredPorts
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.secured_connection import SecuredConnection, SecuredConnectionBeside
from kproxy.settings import HostPort, Settings
from kproxy.settings.choices import ListenerSecurityProtocol
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID


class ClientPorts:
    """The ports of `kproxy.listen`, and those of `kproxy.tls.listen`: what is done with one kind is done with both.

    The connections of both share budget, limits and tables; what they are told of brokers' addresses differs.

    Args:
        settings: names the ports.
        relay: of the first kind.
        addresses: what clients of the first kind are told.
        readdressed: makes the rewriter of responses for other addresses.
        tls: contexts of ports that speak it.
        early: ports that listen already.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        relay: Relay,
        addresses: BrokerAddresses,
        readdressed: Callable[[BrokerAddresses], ResponseRewriter],
        tls: TlsParts,
        early: EarlyPorts,
    ) -> None:
        self._settings = settings
        self._tls = tls
        early_tls = early.split_off(tls_addresses(settings))
        self.first = Listeners(
            _first_plan(settings), relay, addresses, early=early, secured=self._secured_first(tls)
        )
        relay.binder = self.first
        relay.upstream_addresses = partial(self._upstream_addresses, self.first)
        self._addresses = addresses
        self._beside: Listeners | None = None
        self._beside_addresses = BrokerAddresses()
        if settings.tls_listen is not None:
            self._beside = self._ports_beside(settings.tls_listen, relay, readdressed, early_tls)

    @property
    def backing_brokers(self) -> Mapping[int, BackingBroker]:
        """Return the broker behind each port by node id, at the address where it was last seen."""
        return self.first.backing_brokers

    @property
    def bound_ports(self) -> Mapping[int, int]:
        """Return port by node id of the first kind; -1 is the bootstrap port."""
        return self.first.bound_ports

    @property
    def tls_bootstrap_port(self) -> int | None:
        """The bootstrap port of the ports beside the first; None where there are none."""
        return None if self._beside is None else self._beside.bound_ports.get(BOOTSTRAP_NODE_ID)

    def tls_address_of(self, node_id: int) -> AdvertisedAddress | None:
        """Return what clients of the ports beside the first are told of a broker; None where there are none."""
        return self._beside_addresses.address_of(node_id)

    def doubt(self) -> None:
        """Believe the next response that names a broker about where it lives; see `BrokerAddresses.doubt`."""
        self._addresses.doubt()
        self._beside_addresses.doubt()

    async def bind_bootstrap(self) -> None:
        """Open the bootstrap ports. Raises PortUnavailable."""
        for listeners in self._all():
            await listeners.bind_bootstrap()

    def hold_newcomers(self) -> None:
        """See `Listeners.hold_newcomers`."""
        for listeners in self._all():
            listeners.hold_newcomers()

    async def admit_newcomers(self) -> None:
        """See `Listeners.admit_newcomers`."""
        await asyncio.gather(*(listeners.admit_newcomers() for listeners in self._all()))

    async def bind(self, brokers: Iterable[BackingBroker]) -> None:
        """Open the ports of `brokers`, of each kind. Raises PortUnavailable."""
        known = tuple(brokers)
        for listeners in self._all():
            await listeners.bind(known)

    async def follow(self, brokers: Iterable[BackingBroker]) -> None:
        """See `Listeners.follow`."""
        known = tuple(brokers)
        for listeners in self._all():
            await listeners.follow(known)

    async def stop_accepting(self) -> None:
        """Close every port; connections that are open stay."""
        for listeners in self._all():
            await listeners.stop_accepting()

    def _all(self) -> Sequence[Listeners]:
        return [self.first] if self._beside is None else [self.first, self._beside]

    def _secured_first(self, tls: TlsParts) -> SecuredPorts | None:
        if self._settings.listener_security_protocol is not ListenerSecurityProtocol.SSL:
            return None
        assert tls.listener is not None
        return SecuredPorts(
            tls.listener, lambda relay, node_id: SecuredConnection(relay, node_id, tls.principal_of)
        )

    def _ports_beside(
        self,
        bootstrap: HostPort,
        relay: Relay,
        readdressed: Callable[[BrokerAddresses], ResponseRewriter],
        early: EarlyPorts,
    ) -> Listeners:
        tls, addresses = self._tls, self._beside_addresses
        assert tls.listener is not None
        secured = SecuredPorts(
            tls.listener, lambda relay, node_id: SecuredConnectionBeside(relay, node_id, tls.principal_of)
        )
        relay_beside = replace(relay, rewriter=readdressed(addresses))
        plan = _plan_beside(self._settings, bootstrap)
        listeners = Listeners(plan, relay_beside, addresses, early=early, secured=secured)
        relay_beside.binder = listeners
        relay_beside.upstream_addresses = partial(self._upstream_addresses, listeners)
        return listeners

    def _upstream_addresses(self, listeners: Listeners, node_id: int) -> Sequence[HostPort]:
        broker = listeners.backing_brokers.get(node_id)
        return (
            [HostPort(broker.host, broker.port)] if broker is not None else self._settings.bootstrap_servers
        )


def _first_plan(settings: Settings) -> PortPlan:
    return PortPlan(
        bind_host=settings.listen.host,
        bootstrap_port=settings.listen.port,
        broker_port_start=settings.broker_port_start,
        advertised_host=settings.advertised_host,
        broker_port_map=settings.broker_port_map,
    )


def _plan_beside(settings: Settings, bootstrap: HostPort) -> PortPlan:
    return PortPlan(
        bind_host=bootstrap.host,
        bootstrap_port=bootstrap.port,
        broker_port_start=settings.tls_broker_port_start,
        advertised_host=settings.advertised_host,
        broker_port_map=settings.tls_broker_port_map,
        prefix="kproxy.tls.",
    )
