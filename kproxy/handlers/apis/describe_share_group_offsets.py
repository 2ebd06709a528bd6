"""DescribeShareGroupOffsets (90), versions 0-1, KIP-932 and KIP-1226.

Behaviour: the durable start offset, the leader epoch and, from version 1 on, the lag of share-partitions, whether
somebody fetches from them or not. Null topics are all initialized ones of the group. What is not known, or not there,
is -1 and no error; so is a start offset that was chosen and of which nothing was written since. An end of a log that
cannot be asked for is an error. Topics that are named are answered on every port, all of a group on its coordinator's
only.
Known differences from a stock broker: topics and partitions are answered in the order of the request, as often as
named.

Source: `GroupCoordinatorService.describeShareGroupOffsets`, `computeShareGroupLagAndBuildResponse`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kproxy.error_codes import ErrorCode
from kproxy.errors import ApiError
from kproxy.handlers.apis.share_offset_requests import ShareOffsetServices, require_few, require_possible
from kproxy.handlers.backlog import Backlog, BacklogQuestion
from kproxy.handlers.live.pauses import MOST_AT_ONCE, let_others_go_on
from kproxy.handlers.ports import RequestContext
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.registry import ServedApi
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId, TopicIdPartition
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


@dataclass(frozen=True, slots=True)
class _AskedTopic:
    """A topic of a group. `partition_count` is 0 for one that the cluster does not have."""

    name: str
    topic_id: TopicId
    partition_count: int
    partitions: Sequence[int]


@dataclass(slots=True)
class _AskedGroup:
    group_id: str
    topics: Sequence[_AskedTopic] = ()
    refusal: ApiError | None = None

    def keys(self) -> Iterator[tuple[SharePartitionKey, str]]:
        """Yield what may have a state, each with the name of its topic."""
        for topic in self.topics:
            for number in topic.partitions:
                if 0 <= number < topic.partition_count:
                    yield SharePartitionKey(GroupId(self.group_id), topic.topic_id, number), topic.name


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
        require_few(_count_of(request))
        report = RefusalReport(self._services.observer, context)
        groups = [await self._asked(group, context, report) for group in request.groups]
        found = await self._find(groups, report)
        report.tell()
        return DescribeShareGroupOffsetsResponse(
            groups=[await self._answer(group, found) for group in groups]
        )

    async def _asked(
        self, group: DescribeShareGroupOffsetsRequestGroup, context: RequestContext, report: RefusalReport
    ) -> _AskedGroup:
        try:
            if group.topics is None:
                return _AskedGroup(group.group_id, await self._initialized(group.group_id, context))
            return _AskedGroup(group.group_id, await self._named(group.group_id, group.topics))
        except ApiError as refusal:
            report.add(refusal.error_code, f"offsets of group {group.group_id!r}: {refusal}")
            return _AskedGroup(group.group_id, refusal=refusal)

    async def _initialized(self, group_id: str, context: RequestContext) -> Sequence[_AskedTopic]:
        """Return what the group has initialized of topics that exist; nothing of a group that does not."""
        if not group_id:
            return ()
        checked_id = await self._services.require_group(group_id, context)
        group = self._services.coordinator.find(checked_id)
        initialized = {} if group is None else group.image().initialized
        # By name: brokers before Kafka 3.1 cannot be asked by id.
        found = await self._services.topics_named({topic.topic_name for topic in initialized.values()})
        ids = {topic.topic_id for topic in found.values()}
        return [
            _AskedTopic(
                topic.topic_name, topic_id, found[topic.topic_name].partition_count, sorted(topic.partitions)
            )
            for topic_id, topic in initialized.items()
            if topic_id in ids
        ]

    async def _named(
        self, group_id: str, topics: Sequence[DescribeShareGroupOffsetsRequestTopic]
    ) -> Sequence[_AskedTopic]:
        """Return what is named. Raises ImpossiblePartition for what no topic can have."""
        found = await self._services.topics_named({topic.topic_name for topic in topics})
        asked: list[_AskedTopic] = []
        for topic in topics:
            known = found.get(topic.topic_name)
            if known is None:
                asked.append(_AskedTopic(topic.topic_name, TopicId(ZERO_UUID), 0, topic.partitions))
                continue
            require_possible(group_id, topic.topic_name, topic.partitions)
            located = (known.topic_id, known.partition_count)
            asked.append(_AskedTopic(topic.topic_name, *located, topic.partitions))
        return asked

    async def _find(self, groups: Sequence[_AskedGroup], report: RefusalReport) -> _Found:
        found = _Found()
        names = {key: name for group in groups for key, name in group.keys()}  # noqa: SIM118 - no mapping
        for key, summary in (await self._services.store.summaries(names)).items():
            if isinstance(summary, ApiError):
                report.add(summary.error_code, f"state of {key}: {summary}")
            elif summary is not None:
                found.states[key] = summary
        questions = {
            TopicIdPartition(key.topic_id, key.partition): BacklogQuestion(
                key.topic_id, names[key], key.partition, first_unfinished=None
            )
            for key, state in found.states.items()
            if _has_lag(state)
        }
        if questions:
            backlogs = await self._services.backlogs.look(tuple(questions.values()))
            found.backlogs.update(zip(questions, backlogs, strict=True))
        return found

    async def _answer(self, group: _AskedGroup, found: _Found) -> DescribeShareGroupOffsetsResponseGroup:
        if group.refusal is not None:
            return _refused_group(group.group_id, group.refusal.error_code, str(group.refusal))
        topics = []
        count = 0
        for topic in group.topics:
            partitions = []
            for number in topic.partitions:
                key = SharePartitionKey(GroupId(group.group_id), topic.topic_id, number)
                partitions.append(self._partition(key, found))
                count += 1
                if count % MOST_AT_ONCE == 0:
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


def _told_start_offset(state: DurableShareState) -> int:
    """Return the start offset, unless it was chosen and nothing was written since: a stock broker stores no choice."""
    is_written = state.delivery_complete_count != UNKNOWN_COMPLETE_COUNT or bool(state.state_batches)
    return state.start_offset if is_written else UNKNOWN_START_OFFSET


def _has_lag(state: DurableShareState) -> bool:
    is_counted = state.delivery_complete_count != UNKNOWN_COMPLETE_COUNT
    return is_counted and state.start_offset != UNKNOWN_START_OFFSET


def _count_of(request: DescribeShareGroupOffsetsRequest) -> int:
    topics = [topic for group in request.groups for topic in group.topics or ()]
    return len(request.groups) + len(topics) + sum(len(topic.partitions) for topic in topics)


def _refused(
    request: DescribeShareGroupOffsetsRequest, error_code: ErrorCode, error_message: str | None
) -> DescribeShareGroupOffsetsResponse:
    groups = [_refused_group(group.group_id, error_code, error_message) for group in request.groups]
    return DescribeShareGroupOffsetsResponse(groups=groups)


def _refused_group(
    group_id: str, error_code: ErrorCode, error_message: str | None
) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id, error_code=error_code, error_message=error_message
    )
