"""Share groups as one thing: built from the ports here, talked to by the shell.

The shell hands over requests through `ShareGroups.apis`, says when a connection closed, and calls `expire`
when the earliest deadline has come.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kproxy.handlers.acknowledgements import Acknowledgements
from kproxy.handlers.describe_configs import DescribeConfigsHandler
from kproxy.handlers.effective_limits import EffectiveLimits
from kproxy.handlers.group_configs import GroupConfigBounds, GroupConfigs
from kproxy.handlers.incremental_alter_configs import IncrementalAlterConfigsHandler
from kproxy.handlers.leadership import Leadership
from kproxy.handlers.parked_fetches import ParkedFetches
from kproxy.handlers.ports import (
    Alarm,
    Availability,
    Clock,
    ClusterMetadata,
    GroupNamespace,
    Observer,
    PartitionReader,
    StateLog,
    UncheckedGroupNamespace,
    WallClock,
)
from kproxy.handlers.registry import InternalErrorCallback, ServedApi, ServedApis
from kproxy.handlers.releases import Releases
from kproxy.handlers.share_acknowledge import ShareAcknowledgeHandler
from kproxy.handlers.share_counters import ShareCounters
from kproxy.handlers.share_fetch import ShareFetchHandler
from kproxy.handlers.share_group_heartbeat import ShareGroupHeartbeatHandler
from kproxy.handlers.share_partitions import DirectoryPorts, SharePartitionDirectory
from kproxy.handlers.share_services import ShareServices
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_group import ShareGroupState
from kproxy.share.share_session import ShareSessionCache
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import Message
from kproxy.wire.messages.describe_configs_response import DescribeConfigsResponse
from kproxy.wire.messages.incremental_alter_configs_response import IncrementalAlterConfigsResponse
from kproxy.wire.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse

DEFAULT_FETCH_MAX_BYTES = 57_671_680
"""Kafka's `fetch.max.bytes` for brokers: 55 MiB."""


@dataclass(frozen=True, slots=True)
class ShareGroupLimits:
    """What the operator allows. `share` and its lock duration are what groups get that configure nothing."""

    share: ShareLimits = field(default_factory=ShareLimits)
    group: GroupLimits = field(default_factory=GroupLimits)
    configs: GroupConfigBounds = field(default_factory=GroupConfigBounds)
    max_share_sessions: int = 2_000
    """Share sessions of the process (`group.share.max.share.sessions`)."""
    fetch_max_bytes: int = DEFAULT_FETCH_MAX_BYTES
    """What one ShareFetch is answered with at most, apart from a batch that is larger (`fetch.max.bytes`)."""


@dataclass(frozen=True, slots=True)
class ShareGroupPorts:
    """The outside of share groups."""

    state_log: StateLog
    reader: PartitionReader
    metadata: ClusterMetadata
    availability: Availability
    alarm: Alarm
    clock: Clock
    wall_clock: WallClock
    observer: Observer
    namespace: GroupNamespace = field(default_factory=UncheckedGroupNamespace)


class ShareGroups:
    """All share groups of the process. Off until `apis.set_available` is called."""

    def __init__(
        self,
        ports: ShareGroupPorts,
        limits: ShareGroupLimits,
        *,
        on_internal_error: InternalErrorCallback,
    ) -> None:
        self.configs = GroupConfigs(limits.configs)
        self.coordinator = GroupCoordinator()
        self.sessions = ShareSessionCache(max_share_sessions=limits.max_share_sessions)
        self._ports = ports
        self._effective_limits = EffectiveLimits(limits.share, self.configs)
        self.directory = SharePartitionDirectory(
            _directory_ports(ports),
            limits_of=self._effective_limits.of,
            offset_reset_of=self.configs.offset_reset,
            is_wanted=self.sessions.group_has_sessions,
        )
        self._services = ShareServices(
            sessions=self.sessions,
            directory=self.directory,
            leadership=Leadership(ports.metadata),
            counters=ShareCounters(ports.observer),
            state_log=ports.state_log,
            reader=ports.reader,
            availability=ports.availability,
            clock=ports.clock,
            observer=ports.observer,
            parked=ParkedFetches(ports.availability),
        )
        self._releases = Releases(self._services)
        self.apis = ServedApis(
            self._served_apis(limits),
            self._config_apis(),
            observer=ports.observer,
            on_internal_error=on_internal_error,
            on_connection_closed=self.connection_closed,
        )

    async def connection_closed(self, connection_id: int) -> None:
        """Evict the sessions of a connection and release what their members hold.

        All of that has happened when this first waits; the rest of the wait is for durability.
        """
        await self._releases.evict_connection(connection_id).settle()

    async def expire(self, now_ms: int) -> None:
        """End every acquisition lock and every membership that ran out by `now_ms` (Clock), likewise."""
        self.coordinator.expire_sessions(now_ms)
        await self._releases.expire_locks(now_ms).settle()

    def next_deadline_ms(self) -> int | None:
        """Return a moment no later than the first at which `expire` has something to do; None for never."""
        deadlines_ms = (self.directory.next_deadline_ms(), self.coordinator.next_deadline_ms())
        return min((deadline_ms for deadline_ms in deadlines_ms if deadline_ms is not None), default=None)

    def answer_parked_fetches(self) -> None:
        """Answer every fetch that waits for records with what there is; from now on none waits. For the end."""
        self._services.parked.end()

    def groups_by_state(self) -> Mapping[tuple[str, ...], float]:
        """Return how many groups there are, by the state that describing them would show."""
        counts: dict[tuple[str, ...], float] = {(state.value,): 0 for state in ShareGroupState}
        for group_id in self.coordinator.group_ids:
            counts[self.coordinator.describe(group_id).state.value,] += 1
        return counts

    @property
    def session_count(self) -> int:
        """Share sessions open."""
        return len(self.sessions)

    @property
    def share_partition_count(self) -> int:
        """Share-partitions live in memory."""
        return len(self.directory)

    @property
    def in_flight_count(self) -> int:
        """Offsets in flight over all of them."""
        return self.directory.in_flight_count

    def _served_apis(self, limits: ShareGroupLimits) -> tuple[ServedApi, ...]:
        acknowledgements = Acknowledgements(self._services, self._releases)
        heartbeat = ShareGroupHeartbeatHandler(
            self.coordinator,
            limits.group,
            metadata=self._ports.metadata,
            namespace=self._ports.namespace,
            state_log=self._ports.state_log,
            alarm=self._ports.alarm,
            clock=self._ports.clock,
        )
        fetch = ShareFetchHandler(
            self._services,
            acknowledgements,
            limits=self._effective_limits,
            fetch_max_bytes=limits.fetch_max_bytes,
        )
        acknowledge = ShareAcknowledgeHandler(self._services, acknowledgements, self._effective_limits)
        return (
            ServedApi(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1, heartbeat.serve, ShareGroupHeartbeatResponse),
            ServedApi(ApiKey.SHARE_FETCH, 1, 2, fetch.serve, ShareFetchResponse),
            ServedApi(ApiKey.SHARE_ACKNOWLEDGE, 1, 2, acknowledge.serve, ShareAcknowledgeResponse),
        )

    def _config_apis(self) -> tuple[ServedApi, ...]:
        alter = IncrementalAlterConfigsHandler(self.configs, self._ports.observer)
        describe = DescribeConfigsHandler(self.configs, self._ports.observer)
        return (
            ServedApi(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, alter.serve, _no_alter_results),
            ServedApi(ApiKey.DESCRIBE_CONFIGS, 1, 4, describe.serve, _no_describe_results),
        )


def _no_alter_results(*, error_code: int, error_message: str | None) -> Message:
    """Return an answer that has no place for an error: merged, every resource says that nobody answered for it."""
    del error_code, error_message
    return IncrementalAlterConfigsResponse()


def _no_describe_results(*, error_code: int, error_message: str | None) -> Message:
    """Do the same for DescribeConfigs."""
    del error_code, error_message
    return DescribeConfigsResponse()


def _directory_ports(ports: ShareGroupPorts) -> DirectoryPorts:
    return DirectoryPorts(
        state_log=ports.state_log,
        reader=ports.reader,
        availability=ports.availability,
        alarm=ports.alarm,
        clock=ports.clock,
        wall_clock=ports.wall_clock,
    )
