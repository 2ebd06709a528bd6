"""`ShareService`: all that serves share groups in one process: the fleet, the state log, and the groups."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kproxy.application.configured_limits import share_group_limits
from kproxy.application.joined_fleet import FleetSeat, JoinedFleet
from kproxy.application.peer_service import PeerService
from kproxy.application.slot_contents import SlotContents
from kproxy.application.state_log_plan import state_log_plan
from kproxy.application.topic_changes import TopicChanges
from kproxy.fleet.member_metadata import MemberProfile
from kproxy.handlers.share_groups import ShareGroupLimits, ShareGroupPorts, ShareGroups
from kproxy.handlers.share_state_store import ShareStateStore
from kproxy.interception.client_session import ClientSession
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.net.authorization.acl_watch import AclTerms, AclWatch
from kproxy.net.authorization.twin_rights import RightsTerms, TwinRights
from kproxy.net.background import BackgroundTasks
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.group_namespace import ClusterGroupNamespace
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.deadlines import Deadlines, MonotonicClock, SystemWallClock
from kproxy.net.fleet.reach import ReachCheck
from kproxy.net.observation import ShellObserver
from kproxy.net.reading.backlog_survey import BacklogSurvey
from kproxy.net.reading.isolated_availability import IsolatedAvailability
from kproxy.net.reading.partition_reader import BrokerPartitionReader
from kproxy.net.reading.reads_in_turns import ReadsInTurns
from kproxy.net.relay.held_requests import HeldRequests
from kproxy.net.state_log.durable_state_log import SlotDirectory
from kproxy.net.state_log.service import ClusterAccess, StateLogPlan, StateLogService
from kproxy.net.tasks import TaskKeeper
from kproxy.net.waking_turns import WakingTurns
from kproxy.security.principal import Principal
from kproxy.security.standard_authorizer import AuthorizerRules
from kproxy.settings import Settings
from kproxy.settings.choices import AuthorizerSource
from kproxy.telemetry import logs
from kproxy.telemetry.metrics import Metrics

if TYPE_CHECKING:  # what reads certificates is slow to import: see `tls_parts`
    from kproxy.net.tls.renewal import RenewedContext

log = logs.logger("application")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What share groups find in a process."""

    settings: Settings
    metadata: ClusterMetadataCache
    connections: BrokerConnections
    clock: MonotonicClock
    wall_clock: SystemWallClock
    metrics: Metrics
    tasks: TaskKeeper
    secret: bytes | None
    """What all processes of the fleet share; None for nothing."""
    fleet_tls: "RenewedContext | None"
    """Of connections between them; None for plaintext."""


class ShareService:
    """Built once; it does nothing before the state log is started.

    Args:
        around: the process.
        on_change: called when what can be said of the state log as a whole has changed.
        on_slot_ready: called whenever a slot began to serve.
    """

    def __init__(
        self, around: Surroundings, *, on_change: Callable[[], None], on_slot_ready: Callable[[], None]
    ) -> None:
        self._around = around
        self._on_change = on_change
        self._on_slot_ready = on_slot_ready
        self.observer = ShellObserver(around.metrics)
        self.turns = WakingTurns()
        """In which requests begin, and go on when they have waited for something."""
        self.closed_topics = self._closed_topics()
        plan = state_log_plan(around.settings)
        self.fleet = self._joined_fleet(plan)
        self.state_log = self._state_log_service(plan)
        self.authorizer = self._acl_watch()
        self._rights_terms = RightsTerms(
            around.clock,
            around.metrics,
            around.settings.authorizer_refresh_ms,
            shows_certificate=bool(around.settings.upstream_ssl_keystore_location),
        )
        self.deadlines = Deadlines(around.clock, around.tasks)
        limits = share_group_limits(around.settings)
        self.groups = self._share_groups(limits)
        self.peers = PeerService(
            around.settings,
            self.fleet,
            self.groups,
            secret=around.secret,
            tls=around.fleet_tls,
            bounds=limits.administration,
            observer=self.observer,
            metrics=around.metrics,
        )
        self.deadlines.add(self.groups)
        self.topic_changes = TopicChanges(
            around.metadata,
            self.groups,
            clock=around.clock,
            tasks=around.tasks,
            interval_ms=around.settings.topics_look_interval_ms,
        )

    def _closed_topics(self) -> ClosedTopics:
        settings = self._around.settings
        closed = ClosedTopics(
            (settings.state_topic_name, settings.groups_topic_name), groups=(settings.fleet_group,)
        )
        closed.on_refused = self.observer.closed_topic
        closed.on_group_refused = self.observer.closed_group
        return closed

    def _joined_fleet(self, plan: StateLogPlan) -> JoinedFleet:
        around, claims = self._around, plan.claims
        settings = around.settings
        return JoinedFleet(
            FleetSeat(
                settings.fleet_group,
                settings.state_topic_name,
                claims.owner,
                claims.token,
                settings.fleet_session_timeout_ms,
            ),
            address=lambda: self.peers.address,
            reach=ReachCheck(claims.token, self._visit),
            metadata=around.metadata,
            connections=around.connections,
            wall_clock=around.wall_clock,
            tasks=around.tasks,
            counting=around.metrics,
        )

    def _acl_watch(self) -> AclWatch:
        around, settings = self._around, self._around.settings
        super_users = frozenset(map(Principal.parse, settings.super_users))
        return AclWatch(
            around.metadata,
            AuthorizerRules(super_users, settings.allow_everyone_if_no_acl_found),
            clock=around.clock,
            counting=around.metrics,
            terms=AclTerms(
                settings.authorizer_refresh_ms, settings.authorizer_max_age_ms, settings.authorizer_source
            ),
            is_wanted=lambda: not self.groups.apis.is_off,
            turns=self.turns,
        )

    def new_rights(self, session: ClientSession, send: Callable[[], None]) -> TwinRights | None:
        """Return what asks the broker of a client connection what its client may do; see `TwinRights`."""
        is_asked = self._around.settings.authorizer_source is not AuthorizerSource.ACLS
        return TwinRights(session, send, self._rights_terms) if is_asked else None

    async def _visit(self, profile: MemberProfile) -> None:
        await self.peers.dialler.visit(profile)

    def _state_log_service(self, plan: StateLogPlan) -> StateLogService:
        around, directory = self._around, SlotDirectory()
        return StateLogService(
            plan,
            ClusterAccess(
                metadata=around.metadata,
                connections=around.connections,
                reader=BrokerPartitionReader(metadata=around.metadata, connections=around.connections),
                clock=around.clock,
                wall_clock=around.wall_clock,
                tasks=around.tasks,
            ),
            directory,
            self.fleet,
            measuring=around.metrics,
            listener=SlotContents(directory, lambda: self.groups),
            on_change=self._on_change,
            on_slot_ready=self._on_slot_ready,
            turns=self.turns,
        )

    def _share_groups(self, limits: ShareGroupLimits) -> ShareGroups:
        around, state_log = self._around, self.state_log
        metadata, connections = around.metadata, around.connections
        return ShareGroups(
            ShareGroupPorts(
                state_log=state_log.states,
                group_log=state_log.groups,
                reader=ReadsInTurns(
                    BrokerPartitionReader(metadata=metadata, connections=connections, is_in_line=True)
                ),
                metadata=metadata,
                availability=IsolatedAvailability(
                    metadata=metadata,
                    connections=connections,
                    clock=around.clock,
                    tasks=around.tasks,
                    turns=self.turns,
                ),
                alarm=self.deadlines,
                clock=around.clock,
                wall_clock=around.wall_clock,
                observer=self.observer,
                background=BackgroundTasks(around.tasks),
                readiness=state_log.readiness,
                authorizer=self.authorizer,
                closed_topics=self.closed_topics,
                waits=HeldRequests(around.clock, self.turns),
                namespace=ClusterGroupNamespace(metadata=metadata, connections=connections),
                offset_store=state_log.states,
                backlogs=BacklogSurvey(metadata=metadata, connections=connections),
                share_state_store=self._share_state_store(),
            ),
            limits,
            on_internal_error=self.observer.fault,
        )

    def _share_state_store(self) -> ShareStateStore | None:
        if not self._around.settings.share_coordinator_enable:
            return None
        log.warning(
            "share_coordinator_on_the_wire",
            detail="who may do CLUSTER_ACTION, everybody where the cluster has no authorizer, may read and change "
            "the state of every share group (kproxy.share.coordinator.enable=true)",
        )
        return self.state_log.states
