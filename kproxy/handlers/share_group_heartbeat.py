"""ShareGroupHeartbeat (76), version 1, KIP-932.

Behaviour: joins, keeps and leaves; the answer carries the assignment when the member needs to hear it.
Version notes: version 0 was the early access of Kafka 4.0 and is not served. Known differences from a stock
broker: share-partitions are initialized before the answer, so that the first answer already carries the
assignment. While the backing cluster cannot be asked about topics, heartbeats go on with what is known of
them.
"""

from collections.abc import Mapping, Sequence

from kproxy.errors import BrokerUnavailable, CoordinatorNotAvailable, GroupIdNotFound, StateLogUnavailable
from kproxy.handlers.ports import (
    Alarm,
    Clock,
    ClusterMetadata,
    GroupNamespace,
    RequestContext,
    StateLog,
)
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.heartbeat import Heartbeat, HeartbeatAnswer, PartitionInitialization, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, SharePartitionKey
from kproxy.share.limits import GroupLimits
from kproxy.wire.messages import share_group_heartbeat_response
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import Assignment, ShareGroupHeartbeatResponse


class ShareGroupHeartbeatHandler:
    """Serves ShareGroupHeartbeat."""

    __slots__ = ("_alarm", "_clock", "_coordinator", "_limits", "_metadata", "_namespace", "_state_log")

    def __init__(  # noqa: PLR0913  # ports are what a handler is made of
        self,
        coordinator: GroupCoordinator,
        limits: GroupLimits,
        *,
        metadata: ClusterMetadata,
        namespace: GroupNamespace,
        state_log: StateLog,
        alarm: Alarm,
        clock: Clock,
    ) -> None:
        self._coordinator = coordinator
        self._limits = limits
        self._metadata = metadata
        self._namespace = namespace
        self._state_log = state_log
        self._alarm = alarm
        self._clock = clock

    async def serve(
        self, request: ShareGroupHeartbeatRequest, context: RequestContext
    ) -> ShareGroupHeartbeatResponse:
        """Answer the member.

        Raises:
            InvalidRequest: the heartbeat contradicts itself.
            GroupIdNotFound: there is no such share group, or it is a group of another type.
            UnknownMemberId: there is no such member.
            FencedMemberEpoch: the member epoch is neither the current nor the previous one.
            GroupMaxSizeReached: the group is full.
            CoordinatorNotAvailable: it cannot be told whether the id is free.
        """
        heartbeat = _heartbeat(request, context)
        if heartbeat.is_leaving:
            return _response(self._coordinator.leave(heartbeat))
        heartbeat.validate()
        await self._require_free_id(heartbeat)
        topics = await self._topics(heartbeat)
        initializations = self._coordinator.admit(
            heartbeat, topics=topics, limits=self._limits, now_ms=self._clock.now_ms()
        )
        self._watch_sessions()
        await self._initialize(heartbeat.group_id, initializations)
        return _response(
            self._coordinator.answer(heartbeat, limits=self._limits, now_ms=self._clock.now_ms())
        )

    async def _require_free_id(self, heartbeat: Heartbeat) -> None:
        """A join that would make a group must not take the id of a group of another type."""
        if not heartbeat.is_joining or heartbeat.group_id in self._coordinator.group_ids:
            return
        try:
            is_foreign = await self._namespace.is_foreign(heartbeat.group_id)
        except BrokerUnavailable as failure:
            raise CoordinatorNotAvailable(
                f"the groups of the cluster cannot be asked: {failure}"
            ) from failure
        if is_foreign:
            raise GroupIdNotFound(f"group '{heartbeat.group_id}' is not a share group")

    async def _topics(self, heartbeat: Heartbeat) -> Mapping[str, TopicPartitions | None]:
        names = self._coordinator.topic_names(heartbeat)
        try:
            found = await self._metadata.topics_named(names)
        except BrokerUnavailable:
            return {}  # names left out keep their last description
        return {
            name: TopicPartitions(found[name].topic_id, found[name].partition_count)
            if name in found
            else None
            for name in names
        }

    async def _initialize(
        self, group_id: GroupId, initializations: Sequence[PartitionInitialization]
    ) -> None:
        """Initialize one after the other; what is not done when the state log fails is left to later heartbeats."""
        waiting = {initialization.key: initialization for initialization in initializations}
        done: list[SharePartitionKey] = []
        try:
            for key, initialization in waiting.items():
                await self._state_log.initialize(
                    key, state_epoch=initialization.state_epoch, start_offset=initialization.start_offset
                )
                done.append(key)
        except StateLogUnavailable:
            pass  # the member hears of its share-partitions when a later heartbeat has more luck
        finally:
            self._coordinator.initialized(group_id, done)
            self._coordinator.initialization_failed(group_id, waiting.keys() - set(done))

    def _watch_sessions(self) -> None:
        deadline_ms = self._coordinator.next_deadline_ms()
        assert deadline_ms is not None, "a member was admitted, so its session ends some time"
        self._alarm.ring_by(deadline_ms)


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
