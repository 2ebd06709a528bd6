"""The composition root: builds every object of a kproxy process, and owns the order of start and stop.

Start: admin port → bootstrap port → the backing cluster's brokers → their ports → does it serve share groups? → on.
Stop: not ready → accept nobody → answer parked fetches and what is owed → close in waves → tasks → admin port.
"""

import asyncio
import os
import platform
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import uvloop

from kproxy import __version__
from kproxy.admin.readiness import Readiness
from kproxy.admin.server import AdminServer
from kproxy.admin.views import BrokerView, ProxyState, ProxyStatus, ShareGroupsView, item
from kproxy.errors import KproxyError
from kproxy.handlers.group_configs import GroupConfigBounds
from kproxy.handlers.ports import BrokerEndpoint
from kproxy.handlers.share_groups import ShareGroupLimits, ShareGroupPorts, ShareGroups
from kproxy.interception.broker_addresses import AdvertisedAddress, BrokerAddresses
from kproxy.interception.rewrites.responses import ResponseRewriter
from kproxy.interception.routing import RoutingTable
from kproxy.net.availability import ShareAvailability
from kproxy.net.broker_client import ConnectionLimits
from kproxy.net.broker_connections import BrokerConnections
from kproxy.net.broker_failures import AuthenticationExpected
from kproxy.net.buffer_budget import BufferBudget
from kproxy.net.cluster_metadata import ClusterMetadataCache, MetadataTiming
from kproxy.net.cluster_view import ClusterBroker, TopicIdsMissing
from kproxy.net.deadlines import Deadlines, MonotonicClock, SystemWallClock
from kproxy.net.listeners import BOOTSTRAP_NODE_ID, Listeners, PortPlan
from kproxy.net.observation import ShellObserver
from kproxy.net.partition_reader import BrokerPartitionReader
from kproxy.net.relay import Relay, RelayLimits
from kproxy.net.share_support import ShareSupport, ShareSupportWatch
from kproxy.net.sweeper import Sweeper
from kproxy.net.tasks import TaskKeeper
from kproxy.settings import HostPort, Settings, ShareUpstream
from kproxy.settings.addresses import NODE_ID_PLACE
from kproxy.share.identifiers import TopicId
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.statelog.in_memory_state_log import InMemoryStateLog
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics
from kproxy.wire import codecs

log = logs.logger("application")

_MEETING_PAUSE_S: Final = 0.1

CODEC_SWITCH: Final = "KPROXY_CODEC"
"""`construct` runs every message through the construct trees: a switch for tests, not a key."""


def run_proxy(settings: Settings) -> int:
    """Run a proxy until SIGTERM or SIGINT; return the exit code: 0 after a drain, 1 when it could not start."""
    logs.configure(settings.log_format.value, settings.log_level.value)
    if os.environ.get(CODEC_SWITCH) == "construct":
        codecs.select_codec("construct")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(settings))


async def _run(settings: Settings) -> int:
    proxy = Proxy(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, proxy.stop_requested.set)
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

    def __init__(self, settings: Settings) -> None:
        self.stop_requested = asyncio.Event()
        self._settings = settings
        self._state = ProxyState.STARTING
        self._clock = MonotonicClock()
        self._started_ms = self._clock.now_ms()
        self._tasks = TaskKeeper()
        self._metrics = Metrics(settings.metrics_max_series)
        self._addresses = BrokerAddresses()
        self._build_backing_cluster()
        self._build_share_groups()
        self._build_relay()
        self._build_admin()

    # ------------------------------------------------ building

    def _build_backing_cluster(self) -> None:
        settings = self._settings
        limits = ConnectionLimits(connect_timeout_ms=settings.connect_timeout_ms)
        self._connections = BrokerConnections(
            limits=limits, clock=self._clock, tasks=self._tasks, counting=self._metrics
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
        self._support = ShareSupportWatch(
            self._metadata.probe_share_groups,
            tasks=self._tasks,
            on_change=lambda _: self._switch_share_groups(),
        )

    def _build_share_groups(self) -> None:
        self._availability = ShareAvailability(
            metadata=self._metadata, connections=self._connections, clock=self._clock, tasks=self._tasks
        )
        self._deadlines = Deadlines(self._clock, self._tasks)
        observer = ShellObserver(self._metrics)
        self._share_groups = ShareGroups(
            ShareGroupPorts(
                state_log=InMemoryStateLog(),
                reader=BrokerPartitionReader(metadata=self._metadata, connections=self._connections),
                metadata=self._metadata,
                availability=self._availability,
                alarm=self._deadlines,
                clock=self._clock,
                wall_clock=SystemWallClock(),
                observer=observer,
            ),
            _share_group_limits(self._settings),
            on_internal_error=observer.fault,
        )
        self._deadlines.add(self._share_groups)

    def _build_relay(self) -> None:
        settings = self._settings
        self._routes = RoutingTable({})
        self._relay = Relay(
            routes=self._routes,
            rewriter=ResponseRewriter(self._addresses, lambda: self._routes.served, self._topic_name),
            limits=RelayLimits(
                max_request_bytes=settings.socket_request_max_bytes,
                connect_timeout_ms=settings.connect_timeout_ms,
                frame_deadline_ms=settings.frame_deadline_ms,
                keepalive_ms=settings.keepalive_ms,
            ),
            apis=self._share_groups.apis,
            budget=BufferBudget(settings.max_buffered_bytes),
            tasks=self._tasks,
            counting=self._metrics,
            upstream_addresses=self._upstream_addresses,
            on_unreachable=self._look_for_brokers,
        )
        plan = PortPlan(
            bind_host=settings.listen.host,
            bootstrap_port=settings.listen.port,
            broker_port_start=settings.broker_port_start,
            advertised_host=settings.advertised_host,
            broker_port_map=settings.broker_port_map,
        )
        self._listeners = Listeners(plan, self._relay, self._addresses)
        self._relay.binder = self._listeners
        self._sweeper = Sweeper(self._relay)

    def _build_admin(self) -> None:
        metrics, share_groups = self._metrics, self._share_groups
        build: dict[tuple[str, ...], float] = {(__version__, platform.python_version()): 1.0}
        metrics.register_gauge("build_info", lambda: build)
        metrics.register_gauge("connections_open", self._relay.open_connections)
        metrics.register_gauge("buffered_bytes", self._relay.buffered_bytes)
        metrics.register_gauge("event_loop_lag_seconds", lambda: self._sweeper.loop_lag_seconds)
        metrics.register_gauge("share_groups", share_groups.groups_by_state)
        metrics.register_gauge("share_sessions", lambda: share_groups.session_count)
        metrics.register_gauge("share_partitions", lambda: share_groups.share_partition_count)
        metrics.register_gauge("share_inflight_records", lambda: share_groups.in_flight_count)
        readiness = Readiness(
            {
                "listeners": self._check_listeners,
                "metadata": self._check_metadata,
                "draining": self._check_draining,
            }
        )
        listener = self._settings.admin_listener
        self._admin: AdminServer | None = None
        if listener is not None:
            self._admin = AdminServer(
                listener, metrics=metrics, readiness=readiness, status=lambda: item(self.status())
            )

    # ------------------------------------------------ life

    async def start(self) -> None:
        """Open the ports, find the backing cluster, and run until `stop_requested` is set.

        Raises:
            KproxyError: a port cannot be bound.
        """
        if self._admin is not None:
            await self._admin.start()
        await self._listeners.bind_bootstrap()
        self._tasks.spawn(self._sweeper.run(), name="sweeper")
        await self._meet_backing_cluster()
        await self.stop_requested.wait()

    async def stop(self) -> None:
        """Drain and end; a second signal, or `kproxy.shutdown.grace.ms`, cuts it short."""
        self._state = ProxyState.DRAINING
        log.info("draining", connections=len(self._relay.connections))
        self._share_groups.answer_parked_fetches()
        await self._listeners.stop_accepting()
        cut_off = await self._sweeper.drain(self._settings.shutdown_grace_ms)
        self._deadlines.close()
        self._connections.close()
        await self._tasks.close()
        if self._admin is not None:
            await self._admin.stop()
        log.info("stopped", connections_cut_off=cut_off)

    async def _meet_backing_cluster(self) -> None:
        """Bind the brokers' ports once the cluster was reached, and say what clients get. Until then, go on trying."""
        self._metadata.start()
        while not self.stop_requested.is_set() and not self._is_met():
            await self._pause(_MEETING_PAUSE_S)
        if self.stop_requested.is_set():
            return
        await self._listeners.bind(self._metadata.brokers)
        self._metadata.on_brokers.append(self._follow_brokers)
        self._metadata.on_refreshed.append(self._support.look)
        await self._support.look_now()
        self._switch_share_groups()
        self._state = ProxyState.READY
        self._say_where()

    def _is_met(self) -> bool:
        """Whether the cluster answered, or turned kproxy's own connections away for good: clients bring their own."""
        is_refused = isinstance(self._metadata.last_failure, AuthenticationExpected | TopicIdsMissing)
        return self._metadata.age_ms is not None or is_refused

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the process is asked to stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stop_requested.wait(), seconds)

    def _follow_brokers(self, brokers: Sequence[ClusterBroker]) -> None:
        self._tasks.spawn(self._listeners.bind(brokers), name="bind broker ports")

    def _look_for_brokers(self) -> None:
        self._tasks.spawn(self._refresh_quietly(), name="look for brokers")

    async def _refresh_quietly(self) -> None:
        try:
            await self._metadata.refresh()
        except KproxyError as failure:
            log.debug("refresh_failed", err=failure)

    # ------------------------------------------------ share groups on and off

    def _switch_share_groups(self) -> None:
        apis, reason = self._share_groups.apis, self._why_not()
        if reason:
            apis.turn_off(reason)
        else:
            apis.set_available()
        if self._routes.served != apis.version_ranges():
            self._routes.serve(apis.version_ranges())
            log.info("share_groups", state="off" if reason else "on", reason=reason)

    def _why_not(self) -> str:
        """Return why share groups are not served, empty when they are."""
        is_shadowing = self._settings.share_upstream is ShareUpstream.SHADOW
        if self._support.current is ShareSupport.SERVED and not is_shadowing:
            return (
                "the backing cluster serves share groups itself, and two coordinators for one group would deliver "
                "records twice; use the cluster's own, or set kproxy.share.upstream=shadow"
            )
        if self._support.current is ShareSupport.UNKNOWN:
            failure = self._metadata.last_failure
            return f"the backing cluster could not be asked: {failure or 'no answer yet'}"
        return ""

    # ------------------------------------------------ what others are told

    def status(self) -> ProxyStatus:
        """Return what `/api/v1/status` shows."""
        apis = self._share_groups.apis
        is_on = bool(apis.version_ranges())
        return ProxyStatus(
            version=__version__,
            state=self._state,
            cluster_id=self._metadata.cluster_id or "",
            bootstrap=self._bootstrap_address(),
            brokers=self._broker_views(),
            share_groups=ShareGroupsView(is_on, apis.reason),
            connections_open=len(self._relay.connections),
            uptime_seconds=(self._clock.now_ms() - self._started_ms) / 1000,
        )

    def _broker_views(self) -> list[BrokerView]:
        views = []
        for node_id, broker in sorted(self._listeners.backing_brokers.items()):
            address = self._addresses.address_of(node_id)
            told = f"{address.host}:{address.port}" if address is not None else ""
            views.append(BrokerView(node_id, told, f"{broker.host}:{broker.port}"))
        return views

    def _bootstrap_address(self) -> str:
        port = self._listeners.bound_ports.get(BOOTSTRAP_NODE_ID)
        told = self._settings.advertised_host
        # The bootstrap port belongs to no node.
        host = self._settings.listen.host if NODE_ID_PLACE in told else told
        return f"{host}:{port}" if port is not None else ""

    def _say_where(self) -> None:
        """Print the start line: everything that a person or a script needs to go on."""
        status = self.status()
        brokers = ", ".join(f"{view.node_id} at {view.advertised}" for view in status.brokers)
        share_groups = "on" if status.share_groups.is_enabled else f"off ({status.share_groups.reason})"
        print(  # noqa: T201 - the one line that belongs on stdout
            f"kproxy {__version__} ready: bootstrap {status.bootstrap}; brokers {brokers}; share groups {share_groups}",
            flush=True,
        )
        log.info(
            "ready",
            bootstrap=status.bootstrap,
            cluster=status.cluster_id,
            brokers=brokers,
            share_groups=share_groups,
        )

    def _advertised(self, broker: ClusterBroker) -> BrokerEndpoint:
        address = self._addresses.address_of(broker.node_id) or AdvertisedAddress("", -1)
        return BrokerEndpoint(broker.node_id, address.host, address.port, broker.rack)

    def _topic_name(self, topic_id: bytes) -> str | None:
        description = self._metadata.describe(TopicId(topic_id))
        return description.name if description is not None else None

    def _upstream_addresses(self, node_id: int) -> Sequence[HostPort]:
        broker = self._listeners.backing_brokers.get(node_id)
        return (
            [HostPort(broker.host, broker.port)] if broker is not None else self._settings.bootstrap_servers
        )

    # ------------------------------------------------ readiness

    def _check_listeners(self) -> str:
        missing = [
            broker.node_id
            for broker in self._metadata.brokers
            if not self._addresses.address_of(broker.node_id)
        ]
        return f"no port is bound for brokers {missing}" if missing else ""

    def _check_metadata(self) -> str:
        age_ms = self._metadata.age_ms
        if age_ms is None and not self._is_met():
            return f"the backing cluster was not reached yet: {self._metadata.last_failure or 'no answer so far'}"
        if age_ms is not None and age_ms > 2 * self._settings.metadata_max_age_ms:
            return f"the backing cluster was last reached {age_ms} ms ago: {self._metadata.last_failure}"
        return ""

    def _check_draining(self) -> str:
        return "kproxy is stopping" if self._state is ProxyState.DRAINING else ""


def _share_group_limits(settings: Settings) -> ShareGroupLimits:
    return ShareGroupLimits(
        share=ShareLimits(
            delivery_count_limit=settings.group_share_delivery_count_limit,
            record_lock_duration_ms=settings.group_share_record_lock_duration_ms,
            partition_max_record_locks=settings.group_share_partition_max_record_locks,
        ),
        group=GroupLimits(
            session_timeout_ms=settings.group_share_session_timeout_ms,
            heartbeat_interval_ms=settings.group_share_heartbeat_interval_ms,
            max_size=settings.group_share_max_size,
            assignment_interval_ms=settings.group_share_assignment_interval_ms,
        ),
        configs=GroupConfigBounds(
            record_lock_duration_ms=settings.group_share_record_lock_duration_ms,
            min_record_lock_duration_ms=settings.group_share_min_record_lock_duration_ms,
            max_record_lock_duration_ms=settings.group_share_max_record_lock_duration_ms,
        ),
        max_share_sessions=settings.group_share_max_share_sessions,
    )
