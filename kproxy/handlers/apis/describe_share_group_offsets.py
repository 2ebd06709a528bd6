"""DescribeShareGroupOffsets (90), versions 0-1, KIP-932 and KIP-1226.

Behaviour: the durable start offset, the leader epoch and, from version 1 on, the lag of share-partitions, whether
somebody fetches from them or not. Null topics are all initialized ones of the group. What is not known, or not there,
is -1 and no error; so is a start offset that was chosen and of which nothing was written since. An end of a log that
cannot be asked for is an error. Topics that are named are answered on every port, all of a group on its coordinator's
only.
Known differences from a stock broker: topics and partitions are answered in the order of the request, as often as
named; an answer ends at its bound (`AdministrationBounds`), and groups that come then are refused with INVALID_REQUEST.

Source: `GroupCoordinatorService.describeShareGroupOffsets`, `computeShareGroupLagAndBuildResponse`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError, CoordinatorNotAvailable
from kproxy.handlers.administration_bounds import count_of_names, told_why
from kproxy.handlers.apis.share_offset_requests import ShareOffsetServices, require_possible
from kproxy.handlers.authorization import TOPIC_DENIED
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.handlers.groups.group_coordinators import not_coordinator
from kproxy.handlers.groups.hashed_group_ids import hash_in_turns
from kproxy.handlers.live.pauses import Pace, let_others_go_on
from kproxy.handlers.ports import TopicDescription
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.registry import ServedApi
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.identifiers import (
    GroupId,
    SharePartitionKey,
    TopicId,
    TopicIdPartition,
    is_storable_group_id,
    require_storable_group_id,
)
from kproxy.share.share_group_image import StateTopics
from kproxy.share.state_batches import UNKNOWN_COMPLETE_COUNT, UNKNOWN_START_OFFSET
from kproxy.statelog.durable_state import DurableShareState
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kproxy.wire.messages.describe_share_group_offsets_response import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

_STATES_AT_ONCE: Final = 5_000
"""So many states are looked up before others have a turn: some 20 ms."""


@dataclass(frozen=True, slots=True)
class _AskedTopic:
    """A topic of a group. `partition_count` is 0 for one that the cluster does not have, or that must not be seen."""

    name: str
    topic_id: TopicId
    partition_count: int
    partitions: Sequence[int]
    is_denied: bool = False


@dataclass(slots=True)
class _AskedGroup:
    group_id: str
    topics: Sequence[_AskedTopic] = ()
    refusal: ApiError | None = None

    def possible_keys(self) -> Iterator[tuple[SharePartitionKey, str]]:
        """Yield what may have a state, each with the name of its topic."""
        for topic in self.topics:
            for number in topic.partitions:
                if 0 <= number < topic.partition_count:
                    yield SharePartitionKey(GroupId(self.group_id), topic.topic_id, number), topic.name


@dataclass(frozen=True, slots=True)
class _Cluster:
    """What the cluster says of all groups and topics of a request, which it is asked once.

    `coordinator_ids` are those of groups that other brokers coordinate. Without `topics` it could not be asked.
    """

    coordinator_ids: Mapping[str, int]
    topics: Mapping[str, TopicDescription] | CoordinatorNotAvailable

    def topics_named(self) -> Mapping[str, TopicDescription]:
        """Return the topics that there are. Raises CoordinatorNotAvailable."""
        if isinstance(self.topics, CoordinatorNotAvailable):
            # Each group raises one of its own: one that all raise grows with each.
            raise CoordinatorNotAvailable(*self.topics.args)
        return self.topics


@dataclass(slots=True)
class _Found:
    """What is known of all that was asked."""

    states: dict[SharePartitionKey, DurableShareState] = field(default_factory=dict)
    backlogs: dict[TopicIdPartition, Backlog] = field(default_factory=dict)


def describe_share_group_offsets(services: ShareOffsetServices) -> ServedApi:
    """Return the entry of DescribeShareGroupOffsets in the registry."""
    handler = DescribeShareGroupOffsetsHandler(services)
    return ServedApi(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1, handler.serve, refuse_parts=_refused)


class DescribeShareGroupOffsetsHandler:
    """Looks at the states of all groups first, and asks for the ends of the logs then: no lag is less than it was."""

    __slots__ = ("_services",)

    def __init__(self, services: ShareOffsetServices) -> None:
        self._services = services

    async def serve(
        self, request: DescribeShareGroupOffsetsRequest, context: RequestContext
    ) -> DescribeShareGroupOffsetsResponse:
        """Answer group by group. Raises InvalidRequest when there are too many groups, topics and partitions."""
        self._services.bounds.require_few(count_of_described(request))
        await hash_in_turns(group.group_id for group in request.groups)
        report = RefusalReport(self._services.observer, context)
        cluster = await self._ask_cluster(request.groups, context)
        await self._learn_rights(request.groups, cluster, context)
        groups = await self._asked(request.groups, cluster, report, context)
        found = await self._find(groups, report)
        report.tell()
        pace = Pace()
        return DescribeShareGroupOffsetsResponse(
            groups=[await self._answer(group, found, pace) for group in groups]
        )

    async def _ask_cluster(
        self, groups: Sequence[DescribeShareGroupOffsetsRequestGroup], context: RequestContext
    ) -> _Cluster:
        """Ask for the coordinators of groups that are to be told whole, and for all topics."""
        whole = dict.fromkeys(GroupId(group.group_id) for group in groups if group.topics is None)
        askable = [group_id for group_id in whole if group_id and is_storable_group_id(group_id)]
        elsewhere = self._services.coordinators.elsewhere
        coordinator_ids = await elsewhere(askable, context.node_id) if askable else {}
        names = {topic.topic_name for group in groups for topic in group.topics or ()}
        pace = Pace()
        for group_id in askable:
            initialized = self._initialized_topics(group_id).values()
            # By name: brokers before Kafka 3.1 cannot be asked by id.
            names.update(topic.topic_name for topic in initialized)
            if pace.is_pause_due(1 + len(initialized)):
                await let_others_go_on()
        try:
            return _Cluster(coordinator_ids, await self._services.topics_named(names))
        except CoordinatorNotAvailable as failure:
            return _Cluster(coordinator_ids, failure)

    async def _learn_rights(
        self,
        groups: Sequence[DescribeShareGroupOffsetsRequestGroup],
        cluster: _Cluster,
        context: RequestContext,
    ) -> None:
        """Learn which of the groups the sender may see, and of which topics."""

        def topic_names() -> Iterable[str]:
            yield from (topic.topic_name for group in groups for topic in group.topics or ())
            if not isinstance(cluster.topics, CoordinatorNotAvailable):
                yield from cluster.topics

        learn, describe = self._services.authorization.learn, AclOperation.DESCRIBE
        await learn(context, describe, ResourceType.GROUP, lambda: (group.group_id for group in groups))
        await learn(context, describe, ResourceType.TOPIC, topic_names)

    async def _asked(
        self,
        groups: Sequence[DescribeShareGroupOffsetsRequestGroup],
        cluster: _Cluster,
        report: RefusalReport,
        context: RequestContext,
    ) -> Sequence[_AskedGroup]:
        """Return what is to be told of each group, in order, or why nothing is."""
        asked: list[_AskedGroup] = []
        entry_count = 0
        pace = Pace()
        for group in groups:
            try:
                self._services.authorization.require_group(context, AclOperation.DESCRIBE, group.group_id)
                self._services.bounds.require_room(entry_count)
                asked.append(_AskedGroup(group.group_id, self._topics_of(group, cluster, context)))
            except ApiError as refusal:
                report.add(refusal.error_code, f"offsets of group {group.group_id!r}: {refusal}")
                asked.append(_AskedGroup(group.group_id, refusal=refusal))
            group_size = sum(1 + len(topic.partitions) for topic in asked[-1].topics)
            entry_count += group_size
            if pace.is_pause_due(1 + group_size):
                await let_others_go_on()
        return asked

    def _topics_of(
        self, group: DescribeShareGroupOffsetsRequestGroup, cluster: _Cluster, context: RequestContext
    ) -> Sequence[_AskedTopic]:
        """Return the topics to tell of; of all of them those that the sender may see."""
        allows_topic = self._services.authorization.allows_topic
        if group.topics is None:
            return [
                topic
                for topic in self._initialized(group.group_id, cluster)
                if allows_topic(context, AclOperation.DESCRIBE, topic.name)
            ]
        asked: list[_AskedTopic] = []
        for topic in group.topics:
            if allows_topic(context, AclOperation.DESCRIBE, topic.topic_name):
                asked.append(_named(group.group_id, topic, cluster))
            else:
                asked.append(
                    _AskedTopic(topic.topic_name, TopicId(ZERO_UUID), 0, topic.partitions, is_denied=True)
                )
        return asked

    def _initialized(self, group_id: str, cluster: _Cluster) -> Sequence[_AskedTopic]:
        """Return what the group has initialized of topics that exist; nothing of a group that does not."""
        if not group_id:
            return ()
        require_storable_group_id(group_id)
        coordinator_id = cluster.coordinator_ids.get(group_id)
        if coordinator_id is not None:
            raise not_coordinator(group_id, coordinator_id)
        self._services.group_log.require_ready(group_id)
        initialized = self._initialized_topics(GroupId(group_id))
        found = cluster.topics_named() if initialized else {}
        return [
            _AskedTopic(topic.topic_name, topic_id, known.partition_count, sorted(topic.partitions))
            for topic_id, topic in initialized.items()
            if (known := found.get(topic.topic_name)) is not None and known.topic_id == topic_id
        ]

    def _initialized_topics(self, group_id: GroupId) -> StateTopics:
        group = self._services.coordinator.find(group_id)
        return {} if group is None else group.image().initialized

    async def _find(self, groups: Sequence[_AskedGroup], report: RefusalReport) -> _Found:
        found = _Found()
        names: dict[SharePartitionKey, str] = {}
        pace = Pace()
        for key, name in (pair for group in groups for pair in group.possible_keys()):
            names[key] = name
            if pace.is_pause_due():
                await let_others_go_on()
        keys = tuple(names)
        for begin in range(0, len(keys), _STATES_AT_ONCE):
            await self._find_states(found, keys[begin : begin + _STATES_AT_ONCE], report)
            await let_others_go_on()
        await self._find_backlogs(found, names)
        return found

    async def _find_states(
        self, found: _Found, keys: Collection[SharePartitionKey], report: RefusalReport
    ) -> None:
        for key, summary in (await self._services.store.summaries(keys)).items():
            if isinstance(summary, ApiError):
                report.add(summary.error_code, f"state of {key}: {summary}")
            elif summary is not None:
                found.states[key] = summary

    async def _find_backlogs(self, found: _Found, names: Mapping[SharePartitionKey, str]) -> None:
        questions: dict[TopicIdPartition, BacklogQuestion] = {}
        pace = Pace()
        for key, state in found.states.items():
            if _has_lag(state):
                place = TopicIdPartition(key.topic_id, key.partition)
                questions[place] = BacklogQuestion(
                    key.topic_id, names[key], key.partition, first_unfinished=None
                )
            if pace.is_pause_due():
                await let_others_go_on()
        if questions:
            backlogs = await self._services.backlogs.look(tuple(questions.values()))
            found.backlogs.update(zip(questions, backlogs, strict=True))

    async def _answer(
        self, group: _AskedGroup, found: _Found, pace: Pace
    ) -> DescribeShareGroupOffsetsResponseGroup:
        if pace.is_pause_due():
            await let_others_go_on()
        if group.refusal is not None:
            return refused_group(group.group_id, group.refusal.error_code, str(group.refusal))
        topics = []
        for topic in group.topics:
            partitions = []
            for number in topic.partitions:
                key = SharePartitionKey(GroupId(group.group_id), topic.topic_id, number)
                partitions.append(_denied(number) if topic.is_denied else self._partition(key, found))
                if pace.is_pause_due():
                    await let_others_go_on()
            topics.append(DescribeShareGroupOffsetsResponseTopic(topic.name, topic.topic_id, partitions))
        return DescribeShareGroupOffsetsResponseGroup(group.group_id, topics)

    def _partition(self, key: SharePartitionKey, found: _Found) -> DescribeShareGroupOffsetsResponsePartition:
        state = found.states.get(key)
        if state is None:
            return DescribeShareGroupOffsetsResponsePartition(key.partition, UNKNOWN_START_OFFSET)
        told = DescribeShareGroupOffsetsResponsePartition(
            key.partition, _told_start_offset(state), self._leader_epoch(key, state)
        )
        if not _has_lag(state):
            return told
        backlog = found.backlogs[TopicIdPartition(key.topic_id, key.partition)]
        if backlog.log_end_offset is None:
            return DescribeShareGroupOffsetsResponsePartition(
                key.partition, error_code=backlog.error_code, error_message=backlog.reason
            )
        told.lag = backlog.log_end_offset - state.start_offset - state.delivery_complete_count
        return told

    def _leader_epoch(self, key: SharePartitionKey, state: DurableShareState) -> int:
        """Return the epoch of Kafka's leader where a leader has loaded the state, as a stock broker stores it.

        That of the state counts loads, and tells nothing to anybody but kproxy.
        """
        leader = self._services.metadata.leader_of(key.topic_id, key.partition)
        return max(leader.leader_epoch, 0) if leader is not None and state.leader_epoch > 0 else 0


def _named(group_id: str, topic: DescribeShareGroupOffsetsRequestTopic, cluster: _Cluster) -> _AskedTopic:
    """Return what is named. Raises ImpossiblePartition for what no topic can have."""
    known = cluster.topics_named().get(topic.topic_name)
    if known is None:
        return _AskedTopic(topic.topic_name, TopicId(ZERO_UUID), 0, topic.partitions)
    require_possible(group_id, topic.topic_name, topic.partitions)
    return _AskedTopic(topic.topic_name, known.topic_id, known.partition_count, topic.partitions)


def _denied(number: int) -> DescribeShareGroupOffsetsResponsePartition:
    return DescribeShareGroupOffsetsResponsePartition(
        number,
        UNKNOWN_START_OFFSET,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=TOPIC_DENIED,
    )


def _told_start_offset(state: DurableShareState) -> int:
    """Return the start offset, unless it was chosen and nothing was written since: a stock broker stores no choice."""
    is_written = state.delivery_complete_count != UNKNOWN_COMPLETE_COUNT or bool(state.state_batches)
    return state.start_offset if is_written else UNKNOWN_START_OFFSET


def _has_lag(state: DurableShareState) -> bool:
    is_counted = state.delivery_complete_count != UNKNOWN_COMPLETE_COUNT
    return is_counted and state.start_offset != UNKNOWN_START_OFFSET


def count_of_described(request: DescribeShareGroupOffsetsRequest) -> int:
    """Return how many groups, topics and partitions `request` names, as `AdministrationBounds` has it."""
    topics = [topic for group in request.groups for topic in group.topics or ()]
    groups = count_of_names(group.group_id for group in request.groups)
    return groups + len(topics) + sum(len(topic.partitions) for topic in topics)


def _refused(
    request: DescribeShareGroupOffsetsRequest, error_code: ErrorCode, error_message: str | None
) -> DescribeShareGroupOffsetsResponse:
    """Say no to every group of `request`, and why to the first ones: there may be tens of thousands."""
    nothing: list[DescribeShareGroupOffsetsResponseTopic] = []
    groups = [
        DescribeShareGroupOffsetsResponseGroup(group.group_id, nothing, error_code, text)
        for group, text in zip(request.groups, told_why(error_message), strict=False)
    ]
    return DescribeShareGroupOffsetsResponse(groups=groups)


def refused_group(
    group_id: str, error_code: ErrorCode, error_message: str | None
) -> DescribeShareGroupOffsetsResponseGroup:
    """Return what says no to one group."""
    return DescribeShareGroupOffsetsResponseGroup(
        group_id, error_code=error_code, error_message=error_message
    )
