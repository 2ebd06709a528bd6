"""ShareGroupDescribe (77), version 1, KIP-932.

Behaviour: each group is answered by itself, as often as it is named; members with what they were told to fetch.
Version notes: version 0 was the early access of Kafka 4.0 and is not served. Known differences from a stock broker: of
ids that belong to groups of another type the first `MOST_LOOKED_UP` are told as such, the others as unknown; a request
with too many is refused, and answers end at a bound (`AdministrationBounds`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import (
    ApiError,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    InvalidGroupId,
    TopicAuthorizationFailed,
)
from kproxy.handlers.administration_bounds import AdministrationBounds, count_of_names, told_why
from kproxy.handlers.authorization import GROUP_OPERATIONS, Authorization
from kproxy.handlers.groups.group_coordinators import GroupCoordinators, not_coordinator
from kproxy.handlers.groups.hashed_group_ids import hash_in_turns
from kproxy.handlers.live.pauses import Pace, SharedStart, let_others_go_on
from kproxy.handlers.ports import GroupLog, Observer
from kproxy.handlers.refusal_report import RefusalReport
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.views.group_views import ShareGroupMemberView, members_of, outline_of
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.messages.share_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)

MOST_LOOKED_UP: Final = 10
"""Unknown groups of one request about which the backing cluster is asked, for nothing but words."""
_ENTRIES_OF_ONE: Final = 16
"""So many names and partitions of a member are as much work as another share-partition (`Pace`)."""

_CHARACTERS_OF_ONE: Final = 100
"""So many characters of what members say of themselves are as much work as another entry."""
_CHARACTERS_OF_NAME: Final = 10
"""A name counts for so many more than it has."""

HIDDEN_TOPIC: Final = "The group has described topic(s) that the client is not authorized to describe."
"""What Kafka says of a group of which nothing is told, because of one topic."""


class ShareGroupDescribeHandler:
    """Serves ShareGroupDescribe."""

    __slots__ = (
        "_authorization",
        "_bounds",
        "_coordinator",
        "_coordinators",
        "_group_log",
        "_observer",
        "_start",
    )

    def __init__(
        self,
        coordinator: GroupCoordinator,
        *,
        coordinators: GroupCoordinators,
        group_log: GroupLog,
        observer: Observer,
        bounds: AdministrationBounds,
        authorization: Authorization,
    ) -> None:
        self._authorization = authorization
        self._start = SharedStart()
        self._bounds = bounds
        self._coordinator = coordinator
        self._coordinators = coordinators
        self._group_log = group_log
        self._observer = observer

    async def serve(
        self, request: ShareGroupDescribeRequest, context: RequestContext
    ) -> ShareGroupDescribeResponse:
        """Answer one entry per group named, in order. Raises InvalidRequest when there are too many."""
        self._bounds.require_few(count_of_names(request.group_ids))
        await hash_in_turns(request.group_ids)
        await self._learn_rights(request, context)
        report = RefusalReport(self._observer, context)
        answer = ShareGroupDescribeResponse()
        elsewhere = await self._coordinators.elsewhere(request.group_ids, context.node_id)
        entry_count, pace = 0, Pace(start=self._start)
        for group_id in request.group_ids:
            if pace.is_pause_due():
                await let_others_go_on()
            described = await self._described(
                _Asked(group_id, elsewhere.get(group_id), told_count=entry_count),
                report,
                context=context,
                pace=pace,
            )
            if described.error_code == ErrorCode.NONE and request.include_authorized_operations:
                described = self._with_operations(described, report, context)
            answer.groups.append(described)
            entry_count += self._entry_count(described)
        report.tell()
        await self._tell_other_types(answer.groups)
        return answer

    async def _learn_rights(self, request: ShareGroupDescribeRequest, context: RequestContext) -> None:
        """Learn what the sender may see of the groups, and of the topics that their members fetch from."""
        learn, describe = self._authorization.learn, AclOperation.DESCRIBE
        told = GROUP_OPERATIONS if request.include_authorized_operations else (describe,)
        for operation in told:
            await learn(context, operation, ResourceType.GROUP, lambda: request.group_ids)
        topics = partial(self._assigned_topics, request.group_ids, context)
        await learn(context, describe, ResourceType.TOPIC, topics)

    def _assigned_topics(self, group_ids: Sequence[str], context: RequestContext) -> Iterable[str]:
        """Yield the topics of groups that the sender may describe, of no more than are told of."""
        told_count = 0
        for group_id in map(GroupId, dict.fromkeys(group_ids)):
            if told_count > self._bounds.most_told:
                return
            group = self._coordinator.find(group_id)
            if group is None or not self._is_seen_by(context, group_id):
                continue
            count = self._count_of(group)
            if count < self._bounds.most_told:
                told_count += count
                yield from group.topics.names_of(member.assigned for member in group.members.values())

    def _is_seen_by(self, context: RequestContext, group_id: str) -> bool:
        try:
            return self._authorization.allows_group(context, AclOperation.DESCRIBE, group_id)
        except CoordinatorNotAvailable:
            return False

    def _with_operations(
        self, described: DescribedGroup, report: RefusalReport, context: RequestContext
    ) -> DescribedGroup:
        try:
            described.authorized_operations = self._authorization.group_operations(
                context, described.group_id
            )
        except CoordinatorNotAvailable as refusal:
            report.add(refusal.error_code, f"group {described.group_id!r}: {refusal}")
            return refused_group(described.group_id, refusal)
        return described

    async def _tell_other_types(self, groups: Sequence[DescribedGroup]) -> None:
        """Say of groups that are no share groups whether they are groups of another type."""
        unknown = [group for group in groups if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND]
        ids = dict.fromkeys(group.group_id for group in unknown)
        refusals = await self._coordinators.not_found(tuple(islice(ids, MOST_LOOKED_UP)))
        for group in unknown:
            if (refusal := refusals.get(group.group_id)) is not None:
                group.error_message = str(refusal)

    async def _described(
        self, asked: "_Asked", report: RefusalReport, *, context: RequestContext, pace: Pace
    ) -> DescribedGroup:
        try:
            self._authorization.require_group(context, AclOperation.DESCRIBE, asked.group_id)
            self._bounds.require_room(asked.told_count)
            if pace.is_pause_due(self._coordinator.known.work_of(GroupId(asked.group_id))):
                await let_others_go_on()
            group = self._required(asked)
            self._bounds.require_room(self._count_of(group))
            described = await _described_group(group, pace)
            if self._required(asked) is not group:
                raise CoordinatorNotAvailable(f"group {asked.group_id!r} was restored from its log meanwhile")
            self._require_visible(described, context)
        except ApiError as refusal:
            report.add(refusal.error_code, f"group {asked.group_id!r}: {refusal}")
            return refused_group(asked.group_id, refusal)
        return described

    def _require_visible(self, described: DescribedGroup, context: RequestContext) -> None:
        """Raise TopicAuthorizationFailed if members fetch from a topic that the sender may not describe."""
        names = {
            topic.topic_name for member in described.members for topic in member.assignment.topic_partitions
        }
        try:
            self._authorization.require_topics(context, AclOperation.DESCRIBE, names)
        except TopicAuthorizationFailed:
            raise TopicAuthorizationFailed(HIDDEN_TOPIC) from None

    def _entry_count(self, described: DescribedGroup) -> int:
        """Return for how much a group counts. Behind one that is too much by itself nothing is told."""
        is_too_much = described.error_code == ErrorCode.INVALID_REQUEST
        return self._bounds.most_told if is_too_much else entry_count_of(described)

    def _count_of(self, group: ShareGroup) -> int:
        """Return for how many entries a group counts, before any of it is told; counting ends at `most_told`."""
        count = characters = 0
        for member in group.members.values():
            count += 1 + len(member.assigned)
            characters += _character_count(member)
            if count + characters // _CHARACTERS_OF_ONE >= self._bounds.most_told:
                break
        return count + characters // _CHARACTERS_OF_ONE

    def _required(self, asked: "_Asked") -> ShareGroup:
        """Return the group if it is here."""
        if not asked.group_id:
            raise InvalidGroupId("the group id is empty")
        if asked.coordinator_id is not None:
            raise not_coordinator(asked.group_id, asked.coordinator_id)
        self._group_log.require_ready(asked.group_id)
        group = self._coordinator.find(GroupId(asked.group_id))
        if group is None:
            raise GroupIdNotFound(f"Group {asked.group_id} not found.")
        return group


@dataclass(frozen=True, slots=True)
class _Asked:
    """A group that is named, the broker to ask about it instead, and how much is told by then."""

    group_id: str
    coordinator_id: int | None
    told_count: int


def refuse_description(
    request: ShareGroupDescribeRequest, error_code: ErrorCode, error_message: str | None
) -> ShareGroupDescribeResponse:
    """Say no to every group of `request`, and why to the first ones: there may be tens of thousands."""
    nobody: list[Member] = []
    groups = [
        DescribedGroup(error_code, text, group_id, members=nobody)
        for group_id, text in zip(request.group_ids, told_why(error_message), strict=False)
    ]
    return ShareGroupDescribeResponse(groups=groups)


def refused_group(group_id: str, refusal: ApiError) -> DescribedGroup:
    """Return what says no to one group; to one without an id there are no words."""
    return DescribedGroup(refusal.error_code, str(refusal) if group_id else None, group_id)


async def _described_group(group: ShareGroup, pace: Pace) -> DescribedGroup:
    """Describe a group member by member, each as it is when its turn has come: others go on in between."""
    outline, members = outline_of(group), list[Member]()
    described = DescribedGroup(
        group_id=outline.group_id,
        group_state=outline.state.value,
        group_epoch=outline.group_epoch,
        assignment_epoch=outline.assignment_epoch,
        assignor_name=outline.assignor_name,
        members=members,
    )
    views = members_of(group)
    for member in tuple(group.members.values()):
        if pace.is_pause_due(
            1 + (len(member.assigned) + len(member.subscribed_topic_names)) // _ENTRIES_OF_ONE
        ):
            await let_others_go_on()
        members.append(_member(next(views)))
    return described


def _member(member: ShareGroupMemberView) -> Member:
    return Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.subscribed_topic_names),
        assignment=Assignment(
            topic_partitions=[
                TopicPartitions(topic.topic_id, topic.topic_name, list(topic.partitions))
                for topic in member.assignment
            ]
        ),
    )


def entry_count_of(described: DescribedGroup) -> int:
    """Return for how many entries of an answer a group counts (`AdministrationBounds.most_told`).

    Each member and each partition is one, and so are each hundred characters of what members say of themselves.
    """
    characters = sum(map(_character_count, described.members))
    return (
        len(described.members)
        + characters // _CHARACTERS_OF_ONE
        + sum(
            len(topic.partitions)
            for member in described.members
            for topic in member.assignment.topic_partitions
        )
    )


def _character_count(member: Member | ShareGroupMember) -> int:
    names = member.subscribed_topic_names
    return (
        len(member.client_id)
        + len(member.rack_id or "")
        + _CHARACTERS_OF_NAME * len(names)
        + sum(map(len, names))
    )
