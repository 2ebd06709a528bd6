"""`PeerService`: the other processes of the fleet, as this one asks them, and as it serves them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from kproxy.application.joined_fleet import JoinedFleet
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.fleet.fleet_apis import FleetApis
from kproxy.handlers.fleet.peer_group_ids import KnownGroupIds, PeerGroupIds
from kproxy.handlers.fleet.ports import FleetPorts
from kproxy.handlers.held_refusals import HeldRefusals
from kproxy.handlers.ports import Clock
from kproxy.handlers.share_groups import ShareGroups
from kproxy.net.observation import ShellObserver
from kproxy.net.peers.peer_connection import peer_relay
from kproxy.net.peers.peer_dialler import PeerDialler
from kproxy.net.peers.peer_limits import PeerLimits
from kproxy.net.peers.peer_listener import PeerListener
from kproxy.net.peers.peer_twins import PeerTwins
from kproxy.net.peers.secret import read_secret
from kproxy.net.peers.views import Views
from kproxy.net.relay.answering import TimedApis
from kproxy.net.relay.held_requests import HeldRequests
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.sweeper import Sweeper
from kproxy.net.side_by_side import TasksSideBySide
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort, Settings
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics

if TYPE_CHECKING:  # what reads certificates is slow to import: see `tls_parts`
    from kproxy.net.tls.renewal import RenewedContext

log = logs.logger("application")


def fleet_secret(settings: Settings) -> bytes | None:
    """Return what all processes of the fleet share, None for nothing. Raises SecretUnusable."""
    return read_secret(Path(settings.fleet_secret_file)) if settings.fleet_secret_file else None


def warn_of_unguarded_listener(settings: Settings) -> None:
    """Say so where the admin port asks for a token and the fleet's listener lets everybody of this machine in."""
    is_guarded = bool(settings.fleet_secret_file) or settings.has_fleet_tls
    if settings.admin_token_file and not is_guarded:
        log.warning(
            "fleet_listener_unguarded",
            listener=str(settings.fleet_listener),
            detail="every process of this machine can pass for a kproxy of the fleet, and do what operators do without "
            "the token of kproxy.admin.token.file: set kproxy.fleet.secret.file, or mutual TLS (kproxy.fleet.ssl.*), "
            "also where there is one kproxy only",
        )


class PeerService:
    """Asks peers about their groups, and answers them about those of this process.

    Args:
        settings: where peers are let in.
        fleet: who serves which group.
        groups: what this process serves.
        secret: what all processes of the fleet share, None for nothing.
        tls: contexts of connections between processes, None for plaintext.
        bounds: those of administrators' requests.
    """

    def __init__(  # noqa: PLR0913 - keyword-only collaborators
        self,
        settings: Settings,
        fleet: JoinedFleet,
        groups: ShareGroups,
        *,
        secret: bytes | None,
        tls: "RenewedContext | None",
        bounds: AdministrationBounds,
        observer: ShellObserver,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._groups = groups
        self._fleet = fleet
        self._secret = secret
        self._tls = tls
        self._metrics = metrics
        self._limits = PeerLimits()
        self.dialler = PeerDialler(
            lambda: fleet.identity, secret, self._limits, None if tls is None else tls.dialling
        )
        self.twins = PeerTwins(
            fleet, self.dialler, limits=self._limits, measuring=metrics, is_sure=fleet.is_map_current
        )
        ports = FleetPorts(fleet, self.twins, TasksSideBySide(), observer)
        self._peer_ids = PeerGroupIds(groups.coordinator.known_ids, ports)
        self.known_ids = KnownGroupIds(groups.coordinator.known_ids, self._peer_ids)
        """The ids of all share groups of the fleet, a view that follows what happens."""
        self.apis = FleetApis(
            groups.apis, ports, self._peer_ids, bounds=bounds, on_internal_error=observer.fault
        )
        """What serves the clients of this process."""

    # ------------------------------------------------ letting peers in

    def share_with(self, relay: Relay, clock: Clock) -> None:
        """Let the clients of peers have what this process's own have: budget, limits, tasks. To be called first."""
        apis = self._groups.apis
        self.twins.reads = relay.reads
        self._held_refusals = HeldRefusals(
            TimedApis(apis, self._metrics),
            HeldRequests(clock, relay.turns),
            sessions=self._groups.sessions,
            clock=clock,
        )
        relayed = peer_relay(relay, (*apis.entries, *apis.partial_entries), self._held_refusals)
        self._sweeper = Sweeper(relayed, standing_bytes=None)
        self._listener = PeerListener(
            relayed, lambda: self._fleet.identity, self._secret, limits=self._limits, tls=self._tls
        )

    def show(self, views: Views) -> None:
        """Let peers see what `views` answers to paths of the admin port."""
        self._listener.views = views

    async def bind(self) -> None:
        """Listen from now on; who comes before this process knows its cluster is turned away.

        Raises:
            SecretUnusable: others than this machine could reach the port, and there is no secret and no TLS.
            PortUnavailable: it cannot be bound.
        """
        warn_of_unguarded_listener(self._settings)
        await self._listener.bind(self._settings.fleet_listener)

    @property
    def address(self) -> HostPort:
        """Where peers reach this process. Valid once bound."""
        return HostPort(self._settings.fleet_advertised_host, self._listener.port)

    def start(self, tasks: TaskKeeper) -> None:
        """Look after connections, and after what peers serve."""
        tasks.keep_up(self._sweeper.run, name="sweeper of peers")
        tasks.keep_up(self._look, name="share groups of peers")

    async def _look(self) -> None:
        while True:
            self.twins.report()
            await asyncio.sleep(await self._peer_ids.look() / 1000)

    def release(self) -> None:
        """Answer what was held back because share groups were not there: they are."""
        self._held_refusals.release()

    # ------------------------------------------------ the end

    def answer_what_waits(self) -> None:
        """Hold nothing back any more, and let peers do the same for the clients of this process."""
        self._held_refusals.end()
        self.twins.hurry()

    async def drain(self) -> None:
        """Let no peer in, let what is under way be answered; return when all of their connections are closed."""
        self._listener.stop_accepting()
        await self._sweeper.drain()

    async def all_ended(self) -> None:
        """Cut off what is left of peers; return when all is released that their clients held."""
        self._sweeper.cut_off()
        await self._sweeper.all_ended()

    def close(self) -> None:
        """Ask nobody any more."""
        self.twins.abort()
