"""`Vitals`: what people and probes are told of a running proxy: the start line, its status, readiness and gauges."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kproxy import __version__
from kproxy.admin.cluster.slot_places import PartitionPlace, SlotPlaceView, slot_place, unwritable_slots
from kproxy.admin.readiness import CheckResult, Readiness
from kproxy.admin.state_log_views import slot_checks
from kproxy.admin.views import (
    BackingClusterView,
    BrokerView,
    MemoryView,
    ProblemView,
    ProxyState,
    ProxyStatus,
    ShareGroupsState,
    ShareGroupsView,
)
from kproxy.application.client_ports import ClientPorts
from kproxy.application.fleet_vitals import FleetVitals
from kproxy.application.memory_share import MemoryShare
from kproxy.application.tls_vitals import TlsVitals
from kproxy.handlers.ports import Clock
from kproxy.handlers.share_groups import ShareGroups
from kproxy.interception.broker_addresses import BrokerAddresses
from kproxy.net.authorization.acl_watch import SOURCES_IN_USE, AclWatch
from kproxy.net.cluster.contact_watch import ContactWatch
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.relay.relay import Relay
from kproxy.net.state_log.service import StateLogService
from kproxy.settings import Settings
from kproxy.settings.addresses import NODE_ID_PLACE
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID
from kproxy.statelog.slot_status import SlotStatus
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics

log = logs.logger("application")


@dataclass(frozen=True, slots=True)
class VitalParts:
    """The parts of the process that are asked."""

    settings: Settings
    clock: Clock
    metadata: ClusterMetadataCache
    contact: ContactWatch
    listeners: ClientPorts
    addresses: BrokerAddresses
    relay: Relay
    share_groups: ShareGroups
    authorizer: AclWatch
    state_log: StateLogService
    fleet: FleetVitals
    tls: TlsVitals
    is_met: Callable[[], bool]
    """Whether the backing cluster answered, or turned kproxy away for good."""
    memory: MemoryShare
    commit: str
    """Of which commit this kproxy is; empty where nobody knows."""


class Vitals:
    """Asks the parts, and changes nothing. `state` is set by the one who starts and stops them."""

    def __init__(self, parts: VitalParts) -> None:
        self.state = ProxyState.STARTING
        self._has_said_where = False
        self._has_said_ready = False
        self._parts = parts
        self._started_ms = parts.clock.now_ms()

    @property
    def parts(self) -> VitalParts:
        """The parts that are asked."""
        return self._parts

    # ------------------------------------------------ status

    def status(self) -> ProxyStatus:
        """Return what `/api/v1/status` shows."""
        problems = [each for each in self.readiness().named_results() if not each.is_passed]
        is_troubled = self.state is ProxyState.READY and bool(problems)
        return ProxyStatus(
            version=__version__,
            commit=self._parts.commit,
            state=ProxyState.NOT_READY if is_troubled else self.state,
            cluster_id=self._parts.metadata.cluster_id or "",
            bootstrap=self._at_own_host(self._parts.listeners.bound_ports.get(BOOTSTRAP_NODE_ID)),
            brokers=self._broker_views(),
            share_groups=self._share_groups_view(),
            connections_open=len(self._parts.relay.connections),
            uptime_seconds=(self._parts.clock.now_ms() - self._started_ms) / 1000,
            fleet=None
            if self._parts.share_groups.apis.is_off
            else self._parts.fleet.view(self._slot_statuses()),
            memory=self._memory_view(),
            problems=[ProblemView(each.check, each.detail) for each in problems],
            tls_bootstrap=self._at_own_host(self._parts.tls.bootstrap_port),
            certificates=self._parts.tls.certificates(),
            backing_cluster=self._backing_cluster(),
            warnings=self._warnings(),
        )

    def slot_place(self, number: int) -> SlotPlaceView:
        """Return on which brokers a slot is, as the cluster told last."""
        settings = self._parts.settings
        names = settings.state_topic_name, settings.groups_topic_name
        state, groups = (self._partition_place(name, number) for name in names)
        return slot_place(state, groups)

    def _partition_place(self, topic: str, number: int) -> PartitionPlace:
        view = self._parts.metadata.view
        topic_id = view.id_of(topic)
        leader = None if topic_id is None else view.leader_of(topic_id, number)
        if topic_id is None or leader is None:
            return PartitionPlace(topic, number, None, is_known=False)
        if leader.leader_id < 0:
            return PartitionPlace(topic, number, None, view.offline_replicas(topic_id, number))
        return PartitionPlace(topic, number, leader.leader_id)

    def _warnings(self) -> list[ProblemView]:
        if self._parts.share_groups.apis.is_off:
            return []
        places = {status.partition: self.slot_place(status.partition) for status in self._slot_statuses()}
        unwritable = unwritable_slots(places)
        return [ProblemView("slots_without_leader", unwritable)] if unwritable else []

    def _backing_cluster(self) -> BackingClusterView:
        settings = self._parts.settings
        return BackingClusterView(
            bootstrap_servers=",".join(map(str, settings.bootstrap_servers)),
            state_topic=settings.state_topic_name,
            groups_topic=settings.groups_topic_name,
            security_protocol=settings.upstream_security_protocol.value,
        )

    def _memory_view(self) -> MemoryView:
        memory = self._parts.memory
        return MemoryView(self._parts.relay.budget.held_bytes, memory.budget_bytes, memory.source)

    def why_unavailable(self) -> str:
        """Return why share groups are not served although they are on, and what to do; empty while they are."""
        if self._parts.share_groups.apis.is_off:
            return ""
        return self.why_in_doubt() or self._check_authorizer() or self._slot_problem()

    def why_in_doubt(self) -> str:
        """Return why nothing of what share groups hold here may be the truth, whatever becomes of single slots."""
        parts = self._parts
        if parts.share_groups.apis.is_off:
            return ""
        no_slots = "" if parts.state_log.slots is not None else parts.state_log.problem
        return parts.share_groups.apis.reason or parts.contact.problem or no_slots

    def _share_groups_view(self) -> ShareGroupsView:
        apis = self._parts.share_groups.apis
        limit = self._parts.settings.group_share_delivery_count_limit
        if apis.is_off:
            return ShareGroupsView(
                is_enabled=False, state=ShareGroupsState.OFF, reason=apis.reason, delivery_count_limit=limit
            )
        reason = self.why_unavailable()
        state = ShareGroupsState.UNAVAILABLE if reason else ShareGroupsState.ON
        return ShareGroupsView(
            is_enabled=not reason,
            state=state,
            reason=reason,
            delivery_count_limit=limit,
            authorized_by=self._parts.authorizer.source_in_use,
        )

    def say_where(self) -> None:
        """Print the start line: everything that a person or a script needs to go on.

        It says ready, or listening while share groups are on and not there yet: then `say_ready` says ready.
        """
        self._has_said_where = True
        if self.why_unavailable():
            self._say_start("listening")
        else:
            self.say_ready()

    def say_ready(self) -> None:
        """Print that all is there, the first time that it is called after `say_where`."""
        if self._has_said_where and not self._has_said_ready:
            self._has_said_ready = True
            self._say_start("ready")

    def _say_start(self, event: str) -> None:
        status = self.status()
        brokers = ", ".join(f"{view.node_id} at {view.advertised}" for view in status.brokers)
        share_groups = self._share_groups_in_words()
        others = self._parts.fleet.other_count
        fleet = f"; fleet of {others + 1} processes" if others else ""
        tls = f" (TLS {status.tls_bootstrap})" if status.tls_bootstrap else ""
        where = f"bootstrap {status.bootstrap}{tls}; brokers {brokers}{fleet}; share groups {share_groups}"
        print(f"kproxy {__version__} {event}: {where}", flush=True)  # noqa: T201 - what belongs on stdout
        log.info(
            event,
            bootstrap=status.bootstrap,
            cluster=status.cluster_id,
            brokers=brokers,
            fleet=others + 1,
            share_groups=share_groups,
            max_buffered_bytes=self._parts.memory.budget_bytes,
            max_buffered_bytes_source=self._parts.memory.source,
        )

    def _share_groups_in_words(self) -> str:
        """Return what becomes of share groups."""
        apis = self._parts.share_groups.apis
        if apis.is_off:
            return f"off ({apis.reason})"
        # Scripts wait for the word ready.
        reason = self.why_unavailable()
        waits = reason.removeprefix("not ready: ")
        return f"not yet ({reason if waits == reason else f'waits for {waits}'})" if reason else "on"

    def _broker_views(self) -> list[BrokerView]:
        views = []
        for node_id, broker in sorted(self._parts.listeners.backing_brokers.items()):
            address = self._parts.addresses.address_of(node_id)
            told = f"{address.host}:{address.port}" if address is not None else ""
            is_listed = node_id in self._parts.metadata.view.brokers
            views.append(BrokerView(node_id, told, f"{broker.host}:{broker.port}", is_listed=is_listed))
        return views

    def _at_own_host(self, port: int | None) -> str:
        """Return a bootstrap port as clients reach it; empty without one."""
        told = self._parts.settings.advertised_host
        # The bootstrap port belongs to no node.
        host = self._parts.settings.listen.host if NODE_ID_PLACE in told else told
        return f"{host}:{port}" if port is not None else ""

    # ------------------------------------------------ gauges

    def register_gauges(self, metrics: Metrics) -> None:
        """Let every scrape read from the parts themselves."""
        parts, share_groups = self._parts, self._parts.share_groups
        build: dict[tuple[str, ...], float] = {(__version__, platform.python_version(), parts.commit): 1.0}
        metrics.register_gauge("build_info", lambda: build)
        metrics.register_gauge("connections_open", parts.relay.open_connections)
        metrics.register_gauge("buffered_bytes", parts.relay.buffered_bytes)
        metrics.register_gauge("memory_budget_bytes", lambda: parts.memory.budget_bytes)
        metrics.register_gauge("memory_budget_held_bytes", lambda: parts.relay.budget.held_bytes)
        metrics.register_gauge(
            "connections_unauthenticated", lambda: parts.relay.quotas.unauthenticated_count
        )
        metrics.register_gauge("share_sessions", lambda: share_groups.session_count)
        metrics.register_gauge("share_fetches_parked", lambda: len(share_groups.parked))
        metrics.register_counter("share_read_turn_waits", share_groups.turns.waits)
        metrics.register_counter("share_rebalances", lambda: share_groups.coordinator.rebalance_count)
        metrics.register_gauge("statelog_slots", self._slot_counts)
        metrics.register_gauge("statelog_pruned_offset", parts.state_log.pruned_offsets)
        metrics.register_gauge("authorizer_source", self._sources)
        parts.fleet.register_gauges(metrics)
        parts.tls.register_gauges(metrics)

    def _sources(self) -> Mapping[tuple[str, ...], float]:
        in_use = self._parts.authorizer.source_in_use
        return {(source,): float(source == in_use) for source in SOURCES_IN_USE}

    def _slot_counts(self) -> Mapping[tuple[str, ...], float]:
        slots = self._parts.state_log.slots
        return slots.counts() if slots is not None else {}

    # ------------------------------------------------ readiness

    def readiness(self) -> Readiness:
        """Return the checks of `/readyz`."""
        return Readiness(
            {
                "listeners": self._check_listeners,
                "metadata": self._check_metadata,
                "state_log": self._check_state_log,
                "authorizer": self._check_authorizer,
                "fleet": self._check_fleet,
                "draining": self._check_draining,
            },
            more=self._check_slots,
            group="slots",
        )

    def _check_slots(self) -> list[CheckResult]:
        """Return a check for each slot of the state log, none where share groups are off."""
        return [] if self._parts.share_groups.apis.is_off else slot_checks(self._slot_statuses())

    def _slot_statuses(self) -> Sequence[SlotStatus]:
        slots = self._parts.state_log.slots
        return () if slots is None else slots.statuses()

    def _check_authorizer(self) -> str:
        # While share groups cannot be served for another reason, that is what is to be told.
        return "" if self._parts.share_groups.apis.reason else self._parts.authorizer.problem

    def _check_fleet(self) -> str:
        return "" if self._parts.share_groups.apis.is_off else self._parts.fleet.problem()

    def _check_listeners(self) -> str:
        missing = [
            broker.node_id
            for broker in self._parts.metadata.brokers
            if not self._parts.addresses.address_of(broker.node_id)
        ]
        return f"no port is bound for brokers {missing}" if missing else ""

    def _check_metadata(self) -> str:
        age_ms = self._parts.metadata.age_ms
        if age_ms is None and not self._parts.is_met():
            return f"the backing cluster was not reached yet: {self._parts.metadata.last_failure or 'no answer so far'}"
        return self._parts.contact.problem

    def _check_state_log(self) -> str:
        if self.state is ProxyState.STARTING:
            return "it was not looked for yet"
        apis = self._parts.share_groups.apis
        if apis.is_off:
            return ""
        # While nobody knows whether share groups can be served, no state log was looked for, and the reason says why.
        return apis.reason or self._slot_problem()

    def _slot_problem(self) -> str:
        slots = self._parts.state_log.slots
        return slots.problem() if slots is not None else self._parts.state_log.problem

    def _check_draining(self) -> str:
        return "kproxy is stopping" if self.state is ProxyState.DRAINING else ""
