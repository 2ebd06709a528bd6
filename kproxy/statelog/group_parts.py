"""The parts that a share group is kept in: one log record each, so that a change writes little.

Source: `GroupCoordinatorRecordHelpers`; the field tables of record types 10 to 15.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kproxy.errors import CorruptStateRecord
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicIdPartition,
)
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, StateTopics


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """The group exists, and its epoch. Record type 11."""

    group_id: GroupId
    group_epoch: GroupEpoch
    is_being_deleted: bool = False


@dataclass(frozen=True, slots=True)
class MemberMetadata:
    """What a member said of itself. Record type 10."""

    group_id: GroupId
    member_id: MemberId
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: frozenset[str]


@dataclass(frozen=True, slots=True)
class TargetAssignmentMetadata:
    """The group epoch that the target assignment was computed for. Record type 12."""

    group_id: GroupId
    assignment_epoch: AssignmentEpoch


@dataclass(frozen=True, slots=True)
class TargetAssignmentMember:
    """What a member is meant to fetch. Record type 13."""

    group_id: GroupId
    member_id: MemberId
    assigned: frozenset[TopicIdPartition]


@dataclass(frozen=True, slots=True)
class CurrentMemberAssignment:
    """What a member was told to fetch, and its epochs. Record type 14."""

    group_id: GroupId
    member_id: MemberId
    member_epoch: MemberEpoch
    previous_member_epoch: MemberEpoch
    assigned: frozenset[TopicIdPartition]


@dataclass(frozen=True, slots=True)
class StatePartitionMetadata:
    """Which share-partitions of the group have durable state, or are on the way there or back. Record type 15."""

    group_id: GroupId
    initializing: StateTopics
    initialized: StateTopics
    deleting: StateTopics


GroupPart: TypeAlias = (
    GroupMetadata
    | MemberMetadata
    | TargetAssignmentMetadata
    | TargetAssignmentMember
    | CurrentMemberAssignment
    | StatePartitionMetadata
)


def parts_of(image: ShareGroupImage) -> Iterator[GroupPart]:
    """Yield the parts of `image`: those of the whole group first, then member by member."""
    group_id = image.group_id
    yield GroupMetadata(group_id, image.group_epoch, image.is_being_deleted)
    yield TargetAssignmentMetadata(group_id, image.assignment_epoch)
    if image.initializing or image.initialized or image.deleting:
        yield StatePartitionMetadata(group_id, image.initializing, image.initialized, image.deleting)
    for member_id, member in image.members.items():
        yield MemberMetadata(
            group_id,
            member_id,
            member.rack_id,
            member.client_id,
            member.client_host,
            member.subscribed_topic_names,
        )
        yield CurrentMemberAssignment(
            group_id, member_id, member.member_epoch, member.previous_member_epoch, member.assigned
        )
    for member_id, assigned in image.target.items():
        yield TargetAssignmentMember(group_id, member_id, assigned)


def image_of(parts: Iterable[GroupPart]) -> ShareGroupImage:
    """Return the group that these parts, at most one of each key and all of one group, make up.

    A member joins in the order of its MemberMetadata. What was cut short by a crash between two appends is what it
    would be without the second: a member without an assignment was told nothing yet, an assignment without its
    member is dropped.

    Raises:
        CorruptStateRecord: there is no GroupMetadata, so that nobody knows of the group.
    """
    gathered = _Gathered()
    for part in parts:
        gathered.add(part)
    return gathered.image()


class _Gathered:
    """The parts of one group, sorted by what they are about."""

    __slots__ = ("_current", "_group", "_members", "_state", "_target", "_target_metadata")

    def __init__(self) -> None:
        self._group: GroupMetadata | None = None
        self._target_metadata: TargetAssignmentMetadata | None = None
        self._state: StatePartitionMetadata | None = None
        self._members: dict[MemberId, MemberMetadata] = {}
        self._current: dict[MemberId, CurrentMemberAssignment] = {}
        self._target: dict[MemberId, frozenset[TopicIdPartition]] = {}

    def add(self, part: GroupPart) -> None:
        """Take `part` in; a later one takes the place of an earlier one."""
        match part:
            case GroupMetadata():
                self._group = part
            case TargetAssignmentMetadata():
                self._target_metadata = part
            case StatePartitionMetadata():
                self._state = part
            case MemberMetadata():
                self._members[part.member_id] = part
            case CurrentMemberAssignment():
                self._current[part.member_id] = part
            case _:
                self._target[part.member_id] = part.assigned

    def image(self) -> ShareGroupImage:
        """Return what the parts make up."""
        if self._group is None:
            raise CorruptStateRecord("records of a share group without its ShareGroupMetadata")
        target = self._target_metadata
        state = self._state or StatePartitionMetadata(self._group.group_id, {}, {}, {})
        return ShareGroupImage(
            group_id=self._group.group_id,
            group_epoch=self._group.group_epoch,
            assignment_epoch=AssignmentEpoch(0) if target is None else target.assignment_epoch,
            members=self._member_images(),
            target={
                member_id: self._target[member_id] for member_id in self._target if member_id in self._members
            },
            initializing=state.initializing,
            initialized=state.initialized,
            deleting=state.deleting,
            is_being_deleted=self._group.is_being_deleted,
        )

    def _member_images(self) -> Mapping[MemberId, MemberImage]:
        return {member_id: self._member_image(member) for member_id, member in self._members.items()}

    def _member_image(self, member: MemberMetadata) -> MemberImage:
        current = self._current.get(member.member_id)
        return MemberImage(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=member.subscribed_topic_names,
            member_epoch=MemberEpoch(0) if current is None else current.member_epoch,
            previous_member_epoch=MemberEpoch(-1) if current is None else current.previous_member_epoch,
            assigned=frozenset() if current is None else current.assigned,
        )
