"""ShareGroupHeartbeat (76), version 1, KIP-932.

Behaviour: joins, keeps and leaves; the answer carries the assignment when the member needs to hear it.
Version notes: version 0 was the early access of Kafka 4.0 and is not served. Known differences from a stock
broker: share-partitions are initialized before the answer, so that the first answer already carries the
assignment; members keep their epochs and assignments when kproxy is restarted; a heartbeat with nothing to tell is
held for a while, so that its member hears of a change at once. While the backing cluster cannot be asked about
topics, heartbeats go on with what is known of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.errors import ApiError, BrokerUnavailable, CoordinatorNotAvailable, PolicyViolation
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.groups.group_coordinators import GroupCoordinators
from kproxy.handlers.groups.group_deletions import GroupDeletions
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.groups.held_heartbeats import HeldHeartbeats
from kproxy.handlers.groups.principal_quotas import PrincipalQuotas
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import Clock, ClusterMetadata, GroupLog, Observer, StateLog
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import (
    Heartbeat,
    HeartbeatAnswer,
    PartitionInitialization,
    TopicInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group import ShareGroup
from kproxy.wire.messages import share_group_heartbeat_response
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import Assignment, ShareGroupHeartbeatResponse

_ENTRIES_AT_ONCE: Final = 500
"""Topics and partitions of an answer that is made, and encoded, in the turn in which it may go out: a millisecond."""


@dataclass(frozen=True, slots=True)
class HeartbeatPorts:
    """What heartbeats ask of the world."""

    metadata: ClusterMetadata
    state_log: StateLog
    group_log: GroupLog
    clock: Clock
    observer: Observer
    coordinators: GroupCoordinators
    deletions: GroupDeletions
    authorization: Authorization
    quotas: PrincipalQuotas


class ShareGroupHeartbeatHandler:
    """Serves ShareGroupHeartbeat.

    Args:
        coordinator: the groups.
        limits_of: what each of them allows its members at this moment.
        ports: the outside.
        writes: makes groups durable.
        held: holds heartbeats until there is something to tell.
        on_initialized: told of each share-partition whose state began anew, or may have.
    """

    __slots__ = ("_coordinator", "_held", "_limits_of", "_on_initialized", "_ports", "_writes")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        limits_of: Callable[[GroupId], GroupLimits],
        *,
        ports: HeartbeatPorts,
        writes: GroupWrites,
        held: HeldHeartbeats,
        on_initialized: Callable[[SharePartitionKey], None],
    ) -> None:
        self._coordinator = coordinator
        self._limits_of = limits_of
        self._ports = ports
        self._writes = writes
        self._held = held
        self._on_initialized = on_initialized

    async def serve(
        self, request: ShareGroupHeartbeatRequest, context: RequestContext
    ) -> ShareGroupHeartbeatResponse:
        """Answer the member when all that the answer rests on is durable.

        Raises:
            GroupAuthorizationFailed: the sender may not read the group.
            TopicAuthorizationFailed: it may not describe one of the topics that it subscribes to.
            InvalidRequest: the heartbeat contradicts itself.
            GroupIdNotFound: there is no such share group, or it is a group of another type.
            UnknownMemberId: there is no such member.
            FencedMemberEpoch: the member epoch is neither the current nor the previous one.
            GroupMaxSizeReached: the group is full, or its principal has as many members as it may.
            PolicyViolation: its principal has as many groups as it may, or the members of all groups would name more
                topics than they may.
            CoordinatorLoadInProgress: the group is being restored.
            NotCoordinator: another broker coordinates the group, or another process took it over.
            CoordinatorNotAvailable: it cannot be told whether the id is free, or what the group became is not
                durable.
        """
        authorization = self._ports.authorization
        names = request.subscribed_topic_names or ()
        await authorization.learn_group(context, AclOperation.READ, request.group_id)
        await authorization.learn(context, AclOperation.DESCRIBE, ResourceType.TOPIC, lambda: names)
        authorization.require_group(context, AclOperation.READ, request.group_id)
        authorization.require_topics(context, AclOperation.DESCRIBE, names)
        heartbeat = _heartbeat(request, context)
        heartbeat.validate()
        await self._ports.coordinators.require(heartbeat.group_id, context.node_id)
        self._ports.group_log.require_ready(heartbeat.group_id)
        if heartbeat.is_leaving:
            answer = self._leave(heartbeat)
        else:
            answer = await self._keep(heartbeat, context)
        await self._writes.begin(heartbeat.group_id).settle()
        if _entry_count(answer) > _ENTRIES_AT_ONCE:
            await let_others_go_on()  # many members may have waited for the same write
        return _response(answer)

    def _leave(self, heartbeat: Heartbeat) -> HeartbeatAnswer:
        """Let the member go. That is not durable yet."""
        answer = self._coordinator.leave(heartbeat, now_ms=self._ports.clock.now_ms())
        self._held.follow()
        self._held.forget(heartbeat.group_id, heartbeat.member_id)
        return answer

    async def _keep(self, heartbeat: Heartbeat, context: RequestContext) -> HeartbeatAnswer:
        """Let the member join or stay. What it is told is not durable yet."""
        since_ms = self._ports.clock.now_ms() - context.waited_ms
        await self._require_free_id(heartbeat)
        topics = await self._topics(heartbeat)
        self._ports.group_log.require_ready(heartbeat.group_id)
        limits, now_ms = self._limits_of(heartbeat.group_id), self._ports.clock.now_ms()
        self._ports.quotas.require_room(heartbeat, context.principal)
        try:
            initializations = self._coordinator.admit(heartbeat, topics=topics, limits=limits, now_ms=now_ms)
        except PolicyViolation:
            self._ports.observer.count("share_subscriptions_refused")
            raise
        self._ports.quotas.note(heartbeat, context.principal)
        self._held.follow()
        if initializations:
            await self._initialize(heartbeat.group_id, initializations, context)
        return await self._held.answer(heartbeat, context, since_ms=since_ms)

    async def _require_free_id(self, heartbeat: Heartbeat) -> None:
        """A join that would make a group must not take the id of a group of another type.

        That of a share group whose deletion was interrupted it takes when that is over.
        """
        if not heartbeat.is_joining:
            return
        await self._ports.deletions.complete(heartbeat.group_id)
        if self._coordinator.find(heartbeat.group_id) is None:
            await self._ports.coordinators.require_free(heartbeat.group_id)

    async def _topics(self, heartbeat: Heartbeat) -> Mapping[str, TopicPartitions | None]:
        names = self._coordinator.topic_names(heartbeat)
        try:
            found = await self._ports.metadata.topics_named(names)
        except BrokerUnavailable:
            return {}  # names left out keep their last description
        return {
            name: TopicPartitions(found[name].topic_id, found[name].partition_count)
            if name in found
            else None
            for name in names
        }

    async def _initialize(
        self, group_id: GroupId, wanted: Sequence[TopicInitialization], context: RequestContext
    ) -> None:
        """Initialize all; those that fail are left to later heartbeats. Others go on while there are very many.

        The group says so first: whoever is interrupted here finds in it what may have been initialized. What becomes of
        them it notes in one turn, for it is written, and its assignment computed, whenever others change it.
        """
        write = self._writes.begin(group_id)
        beginning = _Beginning(wanted)

        def require_wanted() -> None:
            write.require_current()
            _require_kept(self._coordinator.find(group_id), wanted)

        try:
            await write.settle()
            failures = beginning.failures = await self._ports.state_log.initialize(
                beginning.initializations(), require_wanted
            )
            pace = Pace()
            for key in beginning.ended:
                self._on_initialized(key)
                if pace.is_pause_due():
                    await let_others_go_on()
        finally:
            for key in beginning.ended:
                self._on_initialized(key)
            if write.is_current:
                self._coordinator.initialized(group_id, beginning.done)
                self._coordinator.initialization_failed(group_id, beginning.failed)
                self._held.follow()
        await self._report(failures, context)
        write.require_current()

    async def _report(self, failures: Mapping[SharePartitionKey, ApiError], context: RequestContext) -> None:
        """Tell why share-partitions are not assigned: the answer has no place for it."""
        report = RefusalReport(self._ports.observer, context)
        pace = Pace()
        for key, failure in failures.items():
            report.add(failure.error_code, f"initialization of {key}: {failure}")
            if pace.is_pause_due():
                await let_others_go_on()
        report.tell()


class _Beginning:
    """Share-partitions that a heartbeat initializes, and what became of them."""

    __slots__ = ("_wanted", "done", "ended", "failed", "failures")

    def __init__(self, wanted: Sequence[TopicInitialization]) -> None:
        self._wanted = wanted
        self.failures: Mapping[SharePartitionKey, ApiError] | None = None
        """Why some could not be initialized; None while nobody knows of any: then all failed."""
        self.done: list[SharePartitionKey] = []
        self.failed: list[SharePartitionKey] = []
        self.ended = self._sorted_out()
        """Each share-partition, once, when it is among `done` or `failed`."""

    def initializations(self) -> Iterator[PartitionInitialization]:
        """Yield what is to be initialized."""
        return (each for topic in self._wanted for each in topic.initializations())

    def _sorted_out(self) -> Iterator[SharePartitionKey]:
        for key in (key for topic in self._wanted for key in topic.share_partitions()):
            has_failed = self.failures is None or key in self.failures
            (self.failed if has_failed else self.done).append(key)
            yield key


def _require_kept(group: ShareGroup | None, wanted: Sequence[TopicInitialization]) -> None:
    """Raise CoordinatorNotAvailable if the group has given up a topic: a state that is begun now would stay for ever.

    Who waits for an initialization for longer than the retry interval may be overtaken by another, and a deletion.
    """
    names = {} if group is None else group.state_topic_names
    for topic in wanted:
        if topic.topic_id not in names:
            raise CoordinatorNotAvailable(f"offsets of group {topic.group_id!r} were deleted meanwhile")


def _heartbeat(request: ShareGroupHeartbeatRequest, context: RequestContext) -> Heartbeat:
    names = request.subscribed_topic_names
    return Heartbeat(
        group_id=GroupId(request.group_id),
        member_id=MemberId(request.member_id),
        member_epoch=request.member_epoch,
        rack_id=request.rack_id,
        subscribed_topic_names=None if names is None else tuple(names),
        client_id=context.client_id,
        client_host=context.client_host,
    )


def _entry_count(answer: HeartbeatAnswer) -> int:
    return sum(1 + len(topic.partitions) for topic in answer.assignment or ())


def _response(answer: HeartbeatAnswer) -> ShareGroupHeartbeatResponse:
    assignment = None
    if answer.assignment is not None:
        assignment = Assignment(
            topic_partitions=[
                share_group_heartbeat_response.TopicPartitions(topic.topic_id, list(topic.partitions))
                for topic in answer.assignment
            ]
        )
    return ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
