"""Share groups as one thing: built from the ports here, talked to by the shell.

The shell hands over requests through `ShareGroups.apis`, says when a connection closed, and calls `expire`
when the earliest deadline has come. It says what became of slots: what belongs to a slot is forgotten and
discarded when the slot is lost or fails, and its groups are restored when it is loaded.
"""

from collections.abc import Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from kproxy.errors import ApiError
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.api_entries import ApiParts, partial_apis, served_apis
from kproxy.handlers.apis.share_group_heartbeat import HeartbeatPorts
from kproxy.handlers.authorization import ALLOW_ALL, NO_CLOSED_TOPICS, Authorization, Authorizer
from kproxy.handlers.backlog import Backlogs
from kproxy.handlers.callers import Waits
from kproxy.handlers.groups.effective_limits import EffectiveLimits
from kproxy.handlers.groups.ended_stays import EndedStays
from kproxy.handlers.groups.group_config_keys import GroupConfigBounds
from kproxy.handlers.groups.group_configs import MOST_GROUPS, GroupConfigs
from kproxy.handlers.groups.group_coordinators import GroupCoordinators, GroupNamespace
from kproxy.handlers.groups.group_deletions import GroupDeletions
from kproxy.handlers.groups.group_writes import GroupWrite, GroupWrites
from kproxy.handlers.groups.held_heartbeats import HeldHeartbeats
from kproxy.handlers.groups.principal_quotas import PrincipalLimits, PrincipalQuotas
from kproxy.handlers.groups.restored_groups import RestoredGroups
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.groups.topic_deletions import TopicDeletions
from kproxy.handlers.groups.watched_topics import WatchedTopics
from kproxy.handlers.live.fetch_signals import HeardAvailability
from kproxy.handlers.live.leadership import Leadership
from kproxy.handlers.live.member_clients import MemberClients, clients_in_heartbeats
from kproxy.handlers.live.parked_fetches import ParkedFetches
from kproxy.handlers.live.pauses import MOST_AT_ONCE, Pace, SharedStart, let_others_go_on
from kproxy.handlers.live.releases import Released, Releases
from kproxy.handlers.live.share_counters import ShareCounters
from kproxy.handlers.live.share_partitions import DirectoryPorts, SharePartitionDirectory
from kproxy.handlers.live.share_services import ShareServices
from kproxy.handlers.offset_store import ShareOffsetStore
from kproxy.handlers.operator_actions import OperatorActions
from kproxy.handlers.ports import (
    Alarm,
    Availability,
    Background,
    Clock,
    ClusterMetadata,
    GroupLog,
    Observer,
    PartitionReader,
    StateLog,
    WallClock,
)
from kproxy.handlers.readiness import AlwaysReady, Readiness
from kproxy.handlers.registry import InternalErrorCallback, ServedApis
from kproxy.handlers.share_state_store import ShareStateStore
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits, ShareLimits
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_session import ShareSession, ShareSessionCache, ShareSessionLimits

SESSION_PARTITION_BYTES: Final = 512
"""What a partition of a share session takes: in the session, and in the fetch that waits for records of it."""


@dataclass(frozen=True, slots=True)
class ShareGroupLimits:
    """What the operator allows. `share` and its lock duration are what groups get that configure nothing."""

    share: ShareLimits = field(default_factory=ShareLimits)
    group: GroupLimits = field(default_factory=GroupLimits)
    configs: GroupConfigBounds = field(default_factory=GroupConfigBounds)
    sessions: ShareSessionLimits = field(default_factory=ShareSessionLimits)
    """Share sessions of the process, and their partitions."""
    max_groups: int = MOST_GROUPS
    """Groups that may be there, and groups that may have configured something."""
    max_subscribed_names: int = 200_000
    """Topics that the members of all groups may name, each once for each different subscription of a group."""
    fetch_max_bytes: int = 55 << 20
    """What one ShareFetch is answered with at most, apart from a batch that is larger (Kafka's `fetch.max.bytes`)."""
    administration: AdministrationBounds = field(default_factory=AdministrationBounds)
    """What one request of an administrator may be about."""
    principals: PrincipalLimits = field(default_factory=PrincipalLimits)
    """Members and groups of each principal; its share sessions stand in `sessions`."""


@dataclass(frozen=True, slots=True)
class ShareGroupPorts:
    """The outside of share groups."""

    state_log: StateLog
    group_log: GroupLog
    reader: PartitionReader
    metadata: ClusterMetadata
    availability: Availability
    alarm: Alarm
    clock: Clock
    wall_clock: WallClock
    observer: Observer
    background: Background
    waits: Waits
    namespace: GroupNamespace
    offset_store: ShareOffsetStore
    backlogs: Backlogs
    readiness: Readiness = field(default_factory=AlwaysReady)
    authorizer: Authorizer = ALLOW_ALL
    closed_topics: ClosedTopics = NO_CLOSED_TOPICS
    """Topics that no share group may consume, whatever the authorizer says."""
    share_state_store: ShareStateStore | None = None
    """The share coordinator, where it is served on the wire (API keys 83 to 87); None where it is not."""


class ShareGroups:
    """All share groups of the process. Off until `apis.set_available` is called."""

    def __init__(
        self,
        ports: ShareGroupPorts,
        limits: ShareGroupLimits,
        *,
        on_internal_error: InternalErrorCallback,
    ) -> None:
        self.configs = GroupConfigs(
            limits.configs, most_groups=limits.max_groups, on_altered=self._look_again
        )
        self.coordinator = GroupCoordinator(most_names=limits.max_subscribed_names)
        self.sessions = ShareSessionCache(limits.sessions)
        self.watched_topics = WatchedTopics(self.coordinator)
        self._ports = ports
        self._limits = limits
        self._effective_limits = EffectiveLimits(limits.share, self.configs, limits.group)
        self.availability = HeardAvailability(ports.availability)
        self.directory = SharePartitionDirectory(
            _directory_ports(ports, self.availability),
            limits_of=self._effective_limits.of,
            offset_reset_of=self.configs.offset_reset,
            is_wanted=self.sessions.group_has_sessions,
        )
        self.clients = MemberClients(clients_in_heartbeats(self.coordinator))
        self.counters = ShareCounters(ports.observer)
        self._services = ShareServices(
            sessions=self.sessions,
            directory=self.directory,
            leadership=Leadership(ports.metadata),
            counters=self.counters,
            state_log=ports.state_log,
            group_log=ports.group_log,
            authorization=Authorization(ports.authorizer, ports.metadata, ports.closed_topics),
            reader=ports.reader,
            availability=self.availability,
            clock=ports.clock,
            observer=ports.observer,
            background=ports.background,
            parked=ParkedFetches(self.availability),
            clients=self.clients,
            isolation_of=self.configs.isolation_level,
        )
        self.parked, self.turns = self._services.parked, self._services.turns
        self._releases = Releases(self._services)
        self.operators = OperatorActions(self._services, self._releases)
        self._closings = SharedStart()
        self._held = HeldHeartbeats(
            self.coordinator,
            self._effective_limits.of_members,
            waits=ports.waits,
            group_log=ports.group_log,
            alarm=ports.alarm,
            clock=ports.clock,
        )
        self._group_writes = GroupWrites(
            self.coordinator, ports.group_log, restore=self._restore, on_given_up=self._held.call_group
        )
        self._restored = RestoredGroups(
            self.coordinator, self.configs, self._held, restore=self._restore, background=ports.background
        )
        self.state_deletions = StateDeletions(
            self.coordinator, self.directory, self._group_writes, ports.state_log
        )
        self._ended_stays = EndedStays(self._services)
        self._topic_deletions = TopicDeletions(
            self.coordinator, self._ended_stays, self.state_deletions, ports.metadata, ports.clock
        )
        self._group_deletions = GroupDeletions(self.coordinator, self._group_writes, self._services)
        parts = self._api_parts()
        self.apis = ServedApis(
            served_apis(parts),
            partial_apis(parts),
            observer=ports.observer,
            on_internal_error=on_internal_error,
            on_connection_closed=self.connection_closed,
            readiness=ports.readiness,
            authorizer=ports.authorizer,
        )
        self.apis.on_more_arrived = self._held.more_arrived
        self.apis.on_forsaken = self._services.parked.forsake

    async def connection_closed(self, connection_id: int) -> None:
        """Evict the sessions of a connection and release what their members hold; count on its members no more.

        The sessions are gone when this first waits. What is held of very many partitions or records is released bit by
        bit, and then very many members are: others have a turn in between. The rest of the wait is for durability.
        """
        pace = Pace(start=self._closings)
        has_more = self._held.connection_closed(connection_id, pace)
        released = self._releases.evict_connection(connection_id)
        try:
            await released.release()
            while has_more:
                await let_others_go_on()
                has_more = self._held.connection_closed(connection_id, pace)
        finally:
            await released.settle()

    async def all_released(self) -> None:
        """Return when nothing is left to be released of sessions that have ended. For the end."""
        while self._releases.is_releasing:
            await let_others_go_on()

    def expire(self, now_ms: int) -> Coroutine[object, object, None]:
        """End acquisition locks and every membership that ran out by `now_ms` (Clock); look at assignments.

        When there are very many of any some are left, and `next_deadline_ms` has come still: others have a turn first.
        It has happened when this returns. What it returns is to be awaited, by whoever has the time:
        it is over when all is durable, or discarded and forgotten.
        """
        expired = self.coordinator.expire_sessions(now_ms, at_most=MOST_AT_ONCE)
        self.coordinator.assign(now_ms, at_most=max(MOST_AT_ONCE - len(expired), 1))
        self._held.follow()
        for member in expired:
            self._held.forget(member.group_id, member.member_id)
        group_ids = dict.fromkeys(member.group_id for member in expired)
        writes = [self._group_writes.begin(group_id) for group_id in group_ids]
        return _settle(self._releases.expire_locks(now_ms), writes)

    def next_deadline_ms(self) -> int | None:
        """Return a moment no later than the first at which `expire` has something to do; None for never."""
        deadlines_ms = (self.directory.next_deadline_ms(), self.coordinator.next_deadline_ms())
        return min((deadline_ms for deadline_ms in deadlines_ms if deadline_ms is not None), default=None)

    def restore_groups(
        self,
        images: Iterable[ShareGroupImage],
        configs: Mapping[str, Mapping[str, str]],
        slot: int | None = None,
    ) -> None:
        """Put groups and configurations back that are durable: their `slot` was loaded. Sessions begin anew."""
        pictures = {image.group_id: image for image in images}
        has_begun_deletions = any(image.is_being_deleted for image in pictures.values())
        self._restored.come(pictures, configs, slot=slot)
        if has_begun_deletions:
            self._ports.background.begin(self._group_deletions.tend, name="interrupted deletions of groups")

    def _look_again(self, group_ids: Collection[str]) -> None:
        """Let fetches that wait go by what their groups have configured now."""
        self.availability.look_again(group_ids)

    def forget_slot(self, slot: int) -> None:
        """Forget the groups of a slot that was lost, or failed, with what they have configured, as far as it is placed.

        What is held of the groups is answered.
        """
        self._restored.go(slot)

    def end_sessions(self, sessions: Iterable[ShareSession]) -> None:
        """End sessions of groups that another process is to serve. Fetches that wait are answered."""
        for session in sessions:
            self.sessions.close(session)
            self.availability.end_session(session.key)

    def discard_live(self, group_ids: Collection[GroupId]) -> None:
        """Let nothing live be found of groups of a slot that was lost, failed, or loaded, and wake their fetches."""
        self._ended_stays.end_groups(group_ids)

    def topics_moved(self, topic_ids: Collection[TopicId]) -> bool:
        """Let go of what is live of those topics that the cluster's metadata do not have any more; tell if any went.

        To be called when the metadata of `topic_ids` changed: heartbeats ask about the topics of their groups again.
        Fetches that wait for them look again, and are answered with what is wrong.
        """
        self.coordinator.topics_moved()
        return bool(self._topic_deletions.unload(topic_ids))

    async def move_log_starts(self, log_starts: Mapping[TopicIdPartition, int]) -> None:
        """Give up what these logs no longer hold: they begin at these offsets now. Raises nothing.

        It has happened, durably, when this returns. What is not live notices with its first read.
        """
        await self._releases.move_log_starts(log_starts)

    async def tend_topics(self) -> int | None:
        """Delete the state of topics that the cluster does not have any more; go on with what was interrupted.

        One call at a time. Returns in how many milliseconds to call again, None when nothing is left. Raises nothing.
        """
        await self._group_deletions.tend()
        return await self._topic_deletions.tend()

    def answer_what_waits(self) -> None:
        """Answer every fetch and heartbeat that is held with what there is; from now on none waits. For the end."""
        self._services.parked.end()
        self._held.end()
        self.apis.end_waits()

    def limits_of(self, group_id: GroupId) -> ShareLimits:
        """Return the limits of the group's share-partitions, as it is configured now."""
        return self._effective_limits.of(group_id)

    @property
    def session_count(self) -> int:
        """Share sessions open."""
        return len(self.sessions)

    def standing_bytes(self) -> int:
        """Return about what share sessions take, with the fetches that wait for records of their partitions."""
        return self.sessions.partition_count * SESSION_PARTITION_BYTES

    @property
    def share_partition_count(self) -> int:
        """Share-partitions live in memory."""
        return len(self.directory)

    @property
    def in_flight_count(self) -> int:
        """Offsets in flight over all of them."""
        return self.directory.in_flight_count

    def _restore(self, image: ShareGroupImage, replaced: ShareGroup | None = None) -> None:
        """Put one durable group into the coordinator, and see to it that its sessions end in time."""
        limits, now_ms = self._effective_limits.of_members(image.group_id), self._ports.clock.now_ms()
        self.coordinator.restore(image, limits=limits, now_ms=now_ms, replaced=replaced)
        self._held.follow()
        if image.deleting:
            self.state_deletions.on_interrupted()

    def _api_parts(self) -> ApiParts:
        ports = self._ports
        return ApiParts(
            coordinator=self.coordinator,
            configs=self.configs,
            services=self._services,
            releases=self._releases,
            writes=self._group_writes,
            held=self._held,
            limits=self._effective_limits,
            fetch_max_bytes=self._limits.fetch_max_bytes,
            administration=self._limits.administration,
            heartbeat_ports=self._heartbeat_ports(),
            state_deletions=self.state_deletions,
            offset_store=ports.offset_store,
            backlogs=ports.backlogs,
            share_state_store=ports.share_state_store,
        )

    def _heartbeat_ports(self) -> HeartbeatPorts:
        ports = self._ports
        return HeartbeatPorts(
            metadata=ports.metadata,
            state_log=ports.state_log,
            group_log=ports.group_log,
            clock=ports.clock,
            observer=ports.observer,
            coordinators=GroupCoordinators(ports.metadata, ports.namespace),
            deletions=self._group_deletions,
            authorization=self._services.authorization,
            quotas=PrincipalQuotas(self.coordinator, self._limits.principals, self._limits.max_groups),
        )


async def _settle(released: Released, writes: Iterable[GroupWrite]) -> None:
    """Wait for all of them; a group whose write fails was forgotten, which is all there is to do."""
    try:
        await released.settle()
    finally:
        for write in writes:
            with suppress(ApiError):
                await write.settle()


def _directory_ports(ports: ShareGroupPorts, availability: HeardAvailability) -> DirectoryPorts:
    return DirectoryPorts(
        state_log=ports.state_log,
        offset_store=ports.offset_store,
        group_log=ports.group_log,
        reader=ports.reader,
        availability=availability,
        background=ports.background,
        alarm=ports.alarm,
        clock=ports.clock,
        wall_clock=ports.wall_clock,
        observer=ports.observer,
    )
