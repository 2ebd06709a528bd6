"""What the admin port shows. Data only, so that neither who serves it nor who asks is loaded with it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kproxy.admin.entrance.token_file import TokenFile
from kproxy.admin.peer_views import PeerViews, SlotOwners
from kproxy.application.vitals import Vitals
from kproxy.handlers.ports import Background, Clock, WallClock
from kproxy.handlers.share_groups import ShareGroups
from kproxy.net.cluster.broker_connections import BrokerConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.state_log.service import StateLogService
from kproxy.settings import HostPort, Settings
from kproxy.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class AdminParts:
    """What the admin port shows, and other processes are told. No `listener`: only they are."""

    settings: Settings
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

    @property
    def listener(self) -> HostPort | None:
        """Where the admin port is bound, None for nowhere."""
        return self.settings.admin_listener

    @property
    def token(self) -> TokenFile | None:
        """What the admin port wants to see, None for nothing."""
        file = self.settings.admin_token_file
        return TokenFile(Path(file)) if file else None
