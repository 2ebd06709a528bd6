"""AlterShareGroupOffsets (91), version 0, KIP-932.

Behaviour: the state of each named share-partition begins anew at its new offset, durably, under a higher state epoch:
who still holds the old one in memory is fenced, and nothing that was in flight comes back. The group must be empty; one
that does not exist is made. An offset is taken as it comes; -1 lets `share.auto.offset.reset` choose again.
Known differences from a stock broker: the state epoch rises above the stored one (4.3.1 and 4.4 take the group epoch
as it is, which fences nobody), and the group epoch stays; an offset below -1 is refused with INVALID_REQUEST, where
4.3.1 stores what nobody can begin at; the answer says what became of each partition although others failed. Partitions
of a topic that are not named begin where they would have.

Source: `GroupMetadataManager.alterShareGroupOffsets`, `GroupCoordinatorService.persisterInitialize`.
"""

from collections.abc import Collection, Mapping

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
)
from kproxy.handlers.apis.share_offset_requests import (
    NO_SUCH_PARTITION,
    ShareOffsetServices,
    require_possible,
)
from kproxy.handlers.authorization import TOPIC_DENIED
from kproxy.handlers.live.pauses import MOST_AT_FIRST, Pace, let_others_go_on
from kproxy.handlers.ports import TopicDescription
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation
from kproxy.security.principal import Principal
from kproxy.share.heartbeat import PartitionInitialization, TopicPartitions
from kproxy.share.identifiers import GroupId, SharePartitionKey, StateEpoch, TopicId, TopicIdPartition
from kproxy.statelog.actors import Actor, Cause
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.alter_share_group_offsets_response import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)

_MOST_DELETIONS = 3
"""How often deletions that others begin meanwhile are finished before an alteration gives up."""


def alter_share_group_offsets(services: ShareOffsetServices) -> ServedApi:
    """Return the entry of AlterShareGroupOffsets in the registry."""
    handler = AlterShareGroupOffsetsHandler(services)
    return ServedApi(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0, handler.serve, AlterShareGroupOffsetsResponse)


class AlterShareGroupOffsetsHandler:
    """Moves the start offsets of one group."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareOffsetServices) -> None:
        self._services = services

    async def serve(
        self, request: AlterShareGroupOffsetsRequest, context: RequestContext
    ) -> AlterShareGroupOffsetsResponse:
        """Answer when the offsets, and the group that has them, are durable.

        Raises:
            GroupAuthorizationFailed: the sender may not read the group.
            InvalidGroupId: the group id is empty.
            InvalidRequest: there are too many topics and partitions, or the group id is too long.
            NotCoordinator: another broker coordinates the group.
            CoordinatorLoadInProgress: the group is being restored, or initializes share-partitions of the topics.
            ImpossiblePartition: a partition is negative; nothing is altered.
            GroupIdNotFound: the id is that of a group of another type.
            NonEmptyGroup: the group has members.
            PolicyViolation: there is no such group, and the principal has as many as it may.
            CoordinatorNotAvailable: the cluster cannot be asked, or what the group becomes is not durable.
        """
        self._services.bounds.require_few(
            len(request.topics) + sum(len(topic.partitions) for topic in request.topics)
        )
        names = {topic.topic_name for topic in request.topics}
        await self._services.learn_rights(context, AclOperation.READ, request.group_id, names)
        self._services.authorization.require_group(context, AclOperation.READ, request.group_id)
        group_id = await self._services.require_group(request.group_id, context)
        denied = self._services.denied_topics(names, context)
        found = await self._services.topics_named(names)
        topics = {name: topic for name, topic in found.items() if name not in denied}
        await self._services.require_settled(group_id)
        await self._require_empty(group_id)
        for topic in request.topics:
            if topic.topic_name in topics:
                numbers = (partition.partition_index for partition in topic.partitions)
                require_possible(group_id, topic.topic_name, numbers)
        actor = Actor(Cause.ALTER_OFFSETS, client_id=context.client_id, client_host=context.client_host)
        offsets = await _offsets(group_id, request, topics)
        failures = await self._alter(group_id, topics, offsets, actor, context.principal)
        report = RefusalReport(self._services.observer, context)
        pace = Pace()
        answered: list[AlterShareGroupOffsetsResponseTopic] = []
        for topic in request.topics:
            known = topics.get(topic.topic_name)
            if topic.topic_name in denied:
                answered.append(_denied(topic, found.get(topic.topic_name), report))
                continue
            answered.append(
                await _answer(group_id, topic, known, failures=failures, report=report, pace=pace)
            )
        report.tell()
        return AlterShareGroupOffsetsResponse(responses=answered)

    async def _require_empty(self, group_id: GroupId) -> None:
        """A group must have no members, and one that would be made not the id of a group of another type."""
        if self._services.coordinator.find(group_id) is not None:
            self._services.coordinator.require_empty(group_id)
        else:
            await self._services.coordinators.require_free(group_id)

    async def _alter(
        self,
        group_id: GroupId,
        topics: Mapping[str, TopicDescription],
        offsets: Mapping[SharePartitionKey, int],
        actor: Actor,
        principal: Principal,
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Move the offsets; return those that failed. The group says first what may have got a state."""
        services = self._services
        await self._finish_deletions(group_id, {topic.topic_id for topic in topics.values()})
        described = {
            name: TopicPartitions(topic.topic_id, topic.partition_count) for name, topic in topics.items()
        }
        services.quotas.require_group(group_id, principal)
        state_epoch = services.coordinator.begin_alteration(group_id, described)
        services.quotas.note_group(group_id, principal)
        write = services.writes.begin(group_id)
        await write.settle()
        if len(offsets) > MOST_AT_FIRST:  # several groups may have become durable in this turn
            await let_others_go_on()
            write.require_current()
        self._require_kept(group_id, described)
        attempts = self._attempts(group_id)
        failures = await self._move(offsets, state_epoch, actor)
        moved = [key for key in offsets if key not in failures]
        self._note_moved(group_id, moved, attempts)
        write.require_current()
        await services.writes.begin(group_id).settle()
        return failures

    async def _finish_deletions(self, group_id: GroupId, topic_ids: Collection[TopicId]) -> None:
        """Let no deletion that was interrupted, or is under way, take what is about to be written.

        Raises:
            NonEmptyGroup: the group has members.
            ApiError: a deletion failed, and goes on later.
        """
        services = self._services
        for _ in range(_MOST_DELETIONS):
            group = services.coordinator.find(group_id)
            if group is None:
                return
            services.coordinator.require_empty(group_id)
            deleting = [topic_id for topic_id in group.deleting_topic_ids if topic_id in topic_ids]
            if not deleting:
                return
            for failure in (await services.state_deletions.delete(group, deleting)).values():
                raise failure
        raise CoordinatorNotAvailable(f"offsets of group {group_id!r} are being deleted all the time")

    def _require_kept(self, group_id: GroupId, topics: Mapping[str, TopicPartitions]) -> None:
        """Look at the group again, which was written meanwhile.

        Raises:
            NonEmptyGroup: somebody joined.
            CoordinatorNotAvailable: the group, or what it has of a topic, is being deleted by now.
            CoordinatorLoadInProgress: a member that has left again is still about to initialize share-partitions of the
                topics: their states may be deleted once they are called initialized, and would come after that.
        """
        group = self._services.coordinator.find(group_id)
        if group is None:
            return
        self._services.coordinator.require_empty(group_id)
        if group.is_being_deleted:
            raise CoordinatorNotAvailable(f"group {group_id!r} is being deleted")
        topic_ids = frozenset(topic.topic_id for topic in topics.values())
        if not topic_ids.isdisjoint(group.deleting_topic_ids):
            raise CoordinatorNotAvailable(f"offsets of group {group_id!r} are being deleted")
        if group.topics.state_partitions.is_under_way_of(topic_ids):
            raise CoordinatorLoadInProgress(f"share-partitions of group {group_id!r} are being initialized")

    async def _move(
        self, offsets: Mapping[SharePartitionKey, int], state_epoch: StateEpoch, actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Discard what is live in the turn in which the moves are queued: nothing it writes comes after them."""
        for key in offsets:
            self._services.directory.discard(key)
        moves = [PartitionInitialization(key, state_epoch, offset) for key, offset in offsets.items()]
        return await self._services.store.move(moves, actor)

    def _attempts(self, group_id: GroupId) -> Mapping[TopicIdPartition, object]:
        group = self._services.coordinator.find(group_id)
        return {} if group is None else group.topics.state_partitions.attempts()

    def _note_moved(
        self,
        group_id: GroupId,
        moved: Collection[SharePartitionKey],
        attempts: Mapping[TopicIdPartition, object],
    ) -> None:
        """Let what was `moved` be initialized, but for what was deleted meanwhile and has begun anew: it may fail."""
        present = self._attempts(group_id)
        places = {key: TopicIdPartition(key.topic_id, key.partition) for key in moved}
        done = [key for key, place in places.items() if present.get(place) is attempts.get(place)]
        if done and self._services.coordinator.find(group_id) is not None:
            self._services.coordinator.initialized(group_id, done)


async def _offsets(
    group_id: GroupId, request: AlterShareGroupOffsetsRequest, topics: Mapping[str, TopicDescription]
) -> Mapping[SharePartitionKey, int]:
    """Return the new start offsets of partitions that there may be; of one that is named twice the last counts."""
    offsets: dict[SharePartitionKey, int] = {}
    pace = Pace()
    for named in request.topics:
        topic = topics.get(named.topic_name)
        if topic is None:
            continue
        for asked in named.partitions:
            if asked.partition_index < topic.partition_count:
                offsets[SharePartitionKey(group_id, topic.topic_id, asked.partition_index)] = (
                    asked.start_offset
                )
            if pace.is_pause_due():
                await let_others_go_on()
    return offsets


def _denied(
    asked: AlterShareGroupOffsetsRequestTopic, topic: TopicDescription | None, report: RefusalReport
) -> AlterShareGroupOffsetsResponseTopic:
    """Refuse what is asked of a topic; a stock broker tells its id all the same."""
    report.add(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"offsets in {asked.topic_name!r}: {TOPIC_DENIED}")
    return AlterShareGroupOffsetsResponseTopic(
        asked.topic_name,
        ZERO_UUID if topic is None else topic.topic_id,
        [
            AlterShareGroupOffsetsResponsePartition(
                partition.partition_index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_DENIED
            )
            for partition in asked.partitions
        ],
    )


async def _answer(
    group_id: GroupId,
    asked: AlterShareGroupOffsetsRequestTopic,
    topic: TopicDescription | None,
    *,
    failures: Mapping[SharePartitionKey, ApiError],
    report: RefusalReport,
    pace: Pace,
) -> AlterShareGroupOffsetsResponseTopic:
    topic_id = TopicId(ZERO_UUID) if topic is None else topic.topic_id
    partition_count = 0 if topic is None else topic.partition_count
    if pace.is_pause_due():
        await let_others_go_on()
    answers = []
    for number in (partition.partition_index for partition in asked.partitions):
        if pace.is_pause_due():
            await let_others_go_on()
        code, message = ErrorCode.NONE, None
        failure = failures.get(SharePartitionKey(group_id, topic_id, number))
        if topic is None or number >= partition_count:
            code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NO_SUCH_PARTITION
        elif failure is not None:
            code, message = failure.error_code, str(failure)
        if message is not None:
            report.add(code, f"offset of {group_id!r} in {asked.topic_name!r}-{number}: {message}")
        answers.append(AlterShareGroupOffsetsResponsePartition(number, code, message))
    return AlterShareGroupOffsetsResponseTopic(asked.topic_name, topic_id, answers)
