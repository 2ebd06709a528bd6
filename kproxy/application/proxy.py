"""The composition root: builds every object of a kproxy process, and owns the order of start and stop.

Start: admin port, which is served later (`late_admin`) → bootstrap port → the backing cluster's brokers → their ports →
does it serve share groups? → on.
Stop: not ready → accept nobody → answer parked fetches and what is owed → close in waves → cut off the rest → release
what all of them held → leave the state log → tasks → admin port.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Final

import uvloop

from kproxy.admin.views import ProxyState
from kproxy.application.admin_parts import AdminParts
from kproxy.application.client_ports import ClientPorts
from kproxy.application.configured_quotas import client_quotas, relay_limits
from kproxy.application.fleet_vitals import FleetVitals
from kproxy.application.late_admin import LateAdmin
from kproxy.application.memory_share import memory_share
from kproxy.application.own_credentials import own_credentials
from kproxy.application.peer_questions import PeerQuestions
from kproxy.application.peer_service import fleet_secret
from kproxy.application.process.signals import handle_signals
from kproxy.application.process.watches import keep_watch
from kproxy.application.share_service import ShareService, Surroundings
from kproxy.application.share_switch import ShareSwitch
from kproxy.application.shutdown import Shutdown
from kproxy.application.tls_parts import tls_parts
from kproxy.application.tls_vitals import TlsVitals
from kproxy.application.vitals import VitalParts, Vitals
from kproxy.errors import KproxyError
from kproxy.handlers.held_refusals import HeldRefusals
from kproxy.handlers.ports import BrokerEndpoint
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.authentication.broker_access import BrokerAccess
from kproxy.net.background import BackgroundTasks
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.cluster.broker_client import ConnectionLimits
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.broker_search import BrokerSearch
from kproxy.net.cluster.contact_watch import ContactWatch
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.cluster.metadata_rounds import MetadataTiming
from kproxy.net.cluster.share_support import ShareSupportWatch
from kproxy.net.cluster.topic_names import TopicNames
from kproxy.net.cluster.view import ClusterBroker, TopicIdsMissing
from kproxy.net.deadlines import MonotonicClock, SystemWallClock
from kproxy.net.relay.added_times import AddedTimes
from kproxy.net.relay.admission import Admission
from kproxy.net.relay.answering import TimedApis
from kproxy.net.relay.early_ports import EarlyPorts
from kproxy.net.relay.held_requests import HeldRequests
from kproxy.net.relay.limits.file_descriptors import open_file_limit
from kproxy.net.relay.memory.buffer_budget import BufferBudget
from kproxy.net.relay.relay import Relay
from kproxy.net.relay.sweeper import Sweeper
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import LoadedSettings, Settings
from kproxy.share.identifiers import TopicId
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics
from kproxy.wire import codecs

log = logs.logger("application")

_MEETING_PAUSE_S: Final = 0.02
_PROBE_PATIENCE_S: Final = 2.0
"""How long the brokers' ports wait for a first word on whether the cluster serves share groups itself."""
_FIRST_WORD_PATIENCE_S: Final = 15.0
"""How long the start line waits to say what becomes of share groups; as long again, whether there is a state log."""

CODEC_SWITCH: Final = "KPROXY_CODEC"
"""`construct` runs every message through the construct trees: a switch for tests, not a key."""


def run_proxy(loaded: LoadedSettings, early_ports: EarlyPorts | None = None, *, commit: str = "") -> int:
    """Run a proxy until SIGTERM or SIGINT; return the exit code: 0 after a drain, 1 when it could not start.

    It accepts clients on `early_ports` where these listen already, and tells of `commit` that it is of it.
    """
    settings = loaded.settings
    logs.configure(settings.log_format.value, settings.log_level.value)
    if os.environ.get(CODEC_SWITCH) == "construct":
        codecs.select_codec("construct")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(loaded, early_ports or EarlyPorts(), commit))


async def _run(loaded: LoadedSettings, early_ports: EarlyPorts, commit: str) -> int:
    try:
        proxy = Proxy(loaded.settings, early_ports, commit=commit)
    except KproxyError as unusable:
        print(f"kproxy: {unusable}", file=sys.stderr)  # noqa: T201 - why the command ends, for the person who typed it
        return 1
    handle_signals(asyncio.get_running_loop(), proxy.shutdown.request, loaded)
    try:
        await proxy.start()
    except KproxyError as failure:
        print(f"kproxy: {failure}", file=sys.stderr)  # noqa: T201 - why the command ends, for the person who typed it
        return 1
    finally:
        await proxy.stop()
    return 0


class Proxy:
    """One kproxy process."""

    def __init__(self, settings: Settings, early_ports: EarlyPorts, *, commit: str = "") -> None:
        self._commit = commit
        self._early_ports = early_ports
        self.shutdown = Shutdown(settings.shutdown_grace_ms)
        self._settings = settings
        self._memory = memory_share(settings.max_buffered_bytes)
        self._clock = MonotonicClock()
        self._wall_clock = SystemWallClock()
        self._metrics = Metrics(settings.metrics_max_series)
        self._tasks = TaskKeeper(self._metrics)
        self._addresses = BrokerAddresses()
        self._tls = tls_parts(settings, wall_ms=self._wall_clock.now_ms, counting=self._metrics)
        self._build_backing_cluster()
        self._build_share_service()
        self._build_relay()
        self._build_admin()

    # ------------------------------------------------ building

    def _build_backing_cluster(self) -> None:
        settings = self._settings
        limits = ConnectionLimits(connect_timeout_ms=settings.connect_timeout_ms)
        self._connections = BrokerConnections(
            limits=limits,
            clock=self._clock,
            tasks=self._tasks,
            counting=self._metrics,
            access=BrokerAccess(self._tls.upstream, own_credentials(settings, self._clock)),
        )
        self._metadata = ClusterMetadataCache(
            settings.bootstrap_servers,
            connections=self._connections,
            advertise=self._advertised,
            clock=self._clock,
            tasks=self._tasks,
            counting=self._metrics,
            timing=MetadataTiming(max_age_ms=settings.metadata_max_age_ms),
        )
        self._contact = ContactWatch(self._metadata, on_change=self._go_on_if_well)
        self._broker_search = BrokerSearch(
            self._metadata.look_for_brokers, self._doubt_addresses, tasks=self._tasks
        )
        self._connections.on_doubt = self._broker_search.begin
        self._support = ShareSupportWatch(
            self._metadata.probe_share_groups,
            clock=self._clock,
            tasks=self._tasks,
            counting=self._metrics,
            on_change=self._switch_share_groups,
        )

    def _build_share_service(self) -> None:
        around = Surroundings(
            settings=self._settings,
            metadata=self._metadata,
            connections=self._connections,
            clock=self._clock,
            wall_clock=self._wall_clock,
            metrics=self._metrics,
            tasks=self._tasks,
            secret=fleet_secret(self._settings),
            fleet_tls=self._tls.fleet,
        )
        self._share = ShareService(
            around, on_change=self._switch_share_groups, on_slot_ready=self._go_on_if_well
        )

    def _build_relay(self) -> None:
        settings, clock, groups = self._settings, self._clock, self._share.groups
        timed = TimedApis(self._share.peers.apis, self._metrics)
        waits = HeldRequests(clock, self._share.turns)
        self._held_refusals = HeldRefusals(timed, waits, sessions=groups.sessions, clock=clock)
        closed = self._share.closed_topics
        self._metadata.on_topics.append(lambda _: closed.know(self._state_topic_ids()))
        self._routes = RoutingTable({}, self._share.peers.known_ids, closed)
        self._share.fleet.on_map = self._follow_map
        self._share_switch = ShareSwitch(
            groups.apis,
            self._routes,
            self._support,
            metadata=self._metadata,
            state_log=self._share.state_log,
            settings=settings,
        )
        topic_name = TopicNames(self._metadata, clock, self._tasks).name_of

        def readdressed(addresses: BrokerAddresses) -> ResponseRewriter:
            return ResponseRewriter(
                addresses, lambda: self._routes.served, topic_name, lambda: self._routes.is_feature_on
            )

        self._relay = Relay(
            routes=self._routes,
            rewriter=readdressed(self._addresses),
            limits=relay_limits(settings),
            apis=self._held_refusals,
            budget=BufferBudget(self._memory.budget_bytes),
            quotas=client_quotas(settings, open_file_limit()),
            tasks=self._tasks,
            counting=self._metrics,
            added=AddedTimes(self._metrics.observe),
            upstream_addresses=lambda _node_id: settings.bootstrap_servers,
            broker_tls=self._tls.upstream,
            peers=self._share.peers.twins,
            new_rights=self._share.new_rights,
            on_unreachable=self._broker_search.begin,
            on_topic_change=self._share.topic_changes.note,
            turns=self._share.turns,
            admission=Admission(
                is_sasl_required=settings.upstream_security_protocol.has_sasl,
                sub_claim_name=settings.sasl_oauthbearer_sub_claim_name,
            ),
        )
        self._listeners = ClientPorts(
            settings,
            relay=self._relay,
            addresses=self._addresses,
            readdressed=readdressed,
            tls=self._tls,
            early=self._early_ports,
        )
        self._sweeper = Sweeper(self._relay, groups.standing_bytes)
        self._share.peers.share_with(self._relay, clock)

    def _build_admin(self) -> None:
        self._vitals = Vitals(
            VitalParts(
                settings=self._settings,
                clock=self._clock,
                metadata=self._metadata,
                contact=self._contact,
                listeners=self._listeners,
                addresses=self._addresses,
                relay=self._relay,
                share_groups=self._share.groups,
                authorizer=self._share.authorizer,
                state_log=self._share.state_log,
                fleet=FleetVitals(self._share.fleet, self._metrics),
                tls=TlsVitals(self._tls, self._listeners, self._wall_clock),
                is_met=self._is_met,
                memory=self._memory,
                commit=self._commit,
            )
        )
        self._vitals.register_gauges(self._metrics)
        self._admin = LateAdmin(self._admin_parts(), self._tasks)
        self._share.peers.show(self._admin.tell_peer)

    def _admin_parts(self) -> AdminParts:
        return AdminParts(
            settings=self._settings,
            metrics=self._metrics,
            vitals=self._vitals,
            share_groups=self._share.groups,
            state_log=self._share.state_log,
            metadata=self._metadata,
            topic_name=self._topic_name,
            clock=self._clock,
            wall_clock=self._wall_clock,
            connections=self._connections,
            background=BackgroundTasks(self._tasks),
            fleet=self._share.fleet,
            peer_views=PeerQuestions(self._share.peers.dialler),
        )

    # ------------------------------------------------ life

    async def start(self) -> None:
        """Open the ports, find the backing cluster, and run until `shutdown` is requested.

        Raises:
            KproxyError: a port cannot be bound.
        """
        await self._admin.start()
        self._listeners.hold_newcomers()
        await self._listeners.bind_bootstrap()
        await self._share.peers.bind()
        self._share.peers.start(self._tasks)
        self._tasks.spawn(self._listeners.admit_newcomers(), name="admit newcomers")
        self._tls.start(self._tasks)
        self._tasks.keep_up(self._sweeper.run, name="sweeper")
        keep_watch(self._tasks, self._metrics)
        await self._meet_backing_cluster()
        await self.shutdown.requested.wait()

    async def stop(self) -> None:
        """Drain and end; a second signal, or `kproxy.shutdown.grace.ms`, cuts it short."""
        self.shutdown.begin()
        self._vitals.state = ProxyState.DRAINING
        log.info("draining", connections=len(self._relay.connections))
        grace_ms = self._settings.shutdown_grace_ms
        await self.shutdown.within_grace(self._share.fleet.hand_over(grace_ms // 2))
        self._share.groups.answer_what_waits()
        self._held_refusals.end()
        self._share.peers.answer_what_waits()
        await self._listeners.stop_accepting()
        await self.shutdown.before_last_part(self._drained())
        cut_off = self._sweeper.cut_off()
        await self.shutdown.within_grace(self._sweeper.all_ended())
        await self.shutdown.within_grace(self._share.peers.all_ended())
        await self.shutdown.within_grace(self._share.groups.all_released())
        await self.shutdown.within_grace(self._share.state_log.drain(grace_ms / 1000))
        await self.shutdown.unless_hurried(self._share.state_log.leave())
        await self.shutdown.unless_hurried(self._share.fleet.leave(0))
        self._share.peers.close()
        self._share.deadlines.close()
        self._connections.close()
        await self._tasks.close()
        await self._admin.stop()
        log.info("stopped", connections_cut_off=cut_off)

    async def _drained(self) -> None:
        await asyncio.gather(self._sweeper.drain(), self._share.peers.drain())

    async def _meet_backing_cluster(self) -> None:
        """Bind the brokers' ports once the cluster was reached, and say what clients get. Until then, go on trying."""
        self._metadata.start()
        self._tasks.keep_up(self._contact.run, name="contact with the backing cluster")
        while not self.shutdown.requested.is_set() and not self._is_met():
            await self.shutdown.pause(_MEETING_PAUSE_S)
        if self.shutdown.requested.is_set():
            return
        # First what is served, then the ports: a share consumer that is told of no share groups gives up for good.
        self._metadata.on_refreshed.append(self._support.look)
        self._support.look()
        self._switch_share_groups()
        await self._support.looked(_PROBE_PATIENCE_S)
        self._share.topic_changes.start()
        self._share.authorizer.on_change = self._go_on_if_well
        self._tasks.keep_up(self._share.authorizer.run, name="access control lists")
        await self._listeners.bind(self._metadata.brokers)
        self._metadata.on_brokers.append(self._follow_brokers)
        await self.shutdown.unless_requested(self._share_switch.first_word(_FIRST_WORD_PATIENCE_S))
        if not self._share.groups.apis.is_off:
            await self.shutdown.unless_requested(self._share.authorizer.known(_FIRST_WORD_PATIENCE_S))
        if self.shutdown.requested.is_set():
            return
        self._vitals.state = ProxyState.READY
        self._vitals.say_where()

    def _is_met(self) -> bool:
        """Whether the cluster answered, or turned kproxy's own connections away for good: clients bring their own."""
        is_refused = isinstance(self._metadata.last_failure, AuthenticationExpected | TopicIdsMissing)
        return self._metadata.age_ms is not None or is_refused

    def _follow_brokers(self, brokers: Sequence[ClusterBroker]) -> None:
        self._tasks.spawn(self._listeners.follow(brokers), name="bind broker ports")

    # ------------------------------------------------ the fleet

    def _follow_map(self) -> None:
        """Relay what others serve now. Whoever was refused, or waits for one that left, asks again at once."""
        twins = self._share.peers.twins
        self._routes.is_elsewhere = twins.is_elsewhere if self._share.fleet.peers() else None
        twins.drop_departed()
        self._held_refusals.release()
        self._share.peers.release()

    # ------------------------------------------------ share groups on and off

    def _switch_share_groups(self) -> None:
        self._share_switch.set()
        self._go_on_if_well()

    def _go_on_if_well(self) -> None:
        if not self._vitals.why_unavailable():
            self._held_refusals.release()
            self._share.peers.release()
            self._share_switch.say_on()
            self._vitals.say_ready()

    # ------------------------------------------------ addresses

    def _doubt_addresses(self) -> None:
        self._listeners.doubt()

    def _advertised(self, broker: ClusterBroker) -> BrokerEndpoint:
        address = self._addresses.address_of(broker.node_id) or AdvertisedAddress("", -1)
        return BrokerEndpoint(broker.node_id, address.host, address.port, broker.rack)

    def _state_topic_ids(self) -> Sequence[TopicId]:
        names = (self._settings.state_topic_name, self._settings.groups_topic_name)
        return [found for name in names if (found := self._metadata.id_of(name)) is not None]

    def _topic_name(self, topic_id: bytes) -> str | None:
        return None if (found := self._metadata.describe(TopicId(topic_id))) is None else found.name
