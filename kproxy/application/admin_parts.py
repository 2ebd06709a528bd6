"""What the admin port shows. Data only, so that neither who serves it nor who asks is loaded with it."""

from collections.abc import Callable
from dataclasses import dataclass

from kproxy.admin.peer_views import PeerViews, SlotOwners
from kproxy.application.vitals import Vitals
from kproxy.handlers.ports import Background, Clock, WallClock
from kproxy.handlers.share_groups import ShareGroups
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.state_log.service import StateLogService
from kproxy.settings import HostPort
from kproxy.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class AdminParts:
    """What the admin port shows, and other processes are told. No `listener`: only they are."""

    listener: HostPort | None
    metrics: Metrics
    vitals: Vitals
    share_groups: ShareGroups
    state_log: StateLogService
    metadata: ClusterMetadataCache
    connections: BrokerConnections
    background: Background
    topic_name: Callable[[bytes], str | None]
    clock: Clock
    wall_clock: WallClock
    fleet: SlotOwners
    peer_views: PeerViews
