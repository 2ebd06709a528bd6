"""A share group as it must outlive the process: frozen, complete, and free of time.

Member sessions are not part of it: they begin anew when a group is restored. Nor is what the cluster says of
topics: the next heartbeat asks again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import Final, TypeAlias

from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    TopicId,
    TopicIdPartition,
)


class ShareGroupState(Enum):
    """The states of a share group, as they are spelt on the wire."""

    EMPTY = "Empty"
    STABLE = "Stable"


_THINGS_OF_ONE: Final = 16
"""So many partitions, topics or names take as long as a group that has none: 16 us."""


@dataclass(frozen=True, slots=True)
class MemberImage:
    """One member: what it said of itself, and what it was told last."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: frozenset[str]
    member_epoch: MemberEpoch
    previous_member_epoch: MemberEpoch
    assigned: frozenset[TopicIdPartition]


@dataclass(frozen=True, slots=True)
class StatePartitions:
    """Partitions of one topic, by number, that have share state, or may have.

    Of those that are being initialized, `from_zero` are to begin at offset 0 and the others where the group's
    `share.auto.offset.reset` says. Nothing is said of that in the other stages.
    """

    topic_name: str
    partitions: frozenset[int]
    from_zero: frozenset[int] = frozenset()


StateTopics: TypeAlias = Mapping[TopicId, StatePartitions]
"""By topic id. No topic stands here without a partition."""


@dataclass(frozen=True, slots=True)
class ShareGroupImage:
    """One group at one moment. Members stand in the order in which they joined.

    A partition is in one of `initializing`, `initialized` and `deleting` at most: its durable state may exist,
    exists, may still exist. Source: the records of `GroupCoordinatorRecordHelpers` for share groups.
    """

    group_id: GroupId
    group_epoch: GroupEpoch
    assignment_epoch: AssignmentEpoch
    members: Mapping[MemberId, MemberImage]
    target: Mapping[MemberId, frozenset[TopicIdPartition]]
    initializing: StateTopics
    initialized: StateTopics
    deleting: StateTopics
    is_being_deleted: bool = False
    """Whether the group is to be gone as soon as it has no durable state."""

    def of_what_stays(self) -> "ShareGroupImage":
        """Return what a group is made of: where it is being deleted, what is left of that, without members.

        They had gone before. That stands in other records than the deletion, which may be durable without these.
        """
        return replace(self, members={}, target={}) if self.is_being_deleted else self

    @property
    def state_topic_names(self) -> Mapping[TopicId, str]:
        """The topics of which share-partitions have durable state, or are to get it, and are not being deleted."""
        return {
            topic_id: topic.topic_name
            for topic_id, topic in chain(self.initializing.items(), self.initialized.items())
            if topic_id not in self.deleting
        }

    @property
    def subscribed_names(self) -> frozenset[str]:
        """Every topic that some member subscribed to."""
        return frozenset().union(*(member.subscribed_topic_names for member in self.members.values()))

    @property
    def work(self) -> int:
        """About how much work it is to make the group of this, in groups that have nothing."""
        partition_count = sum(len(member.assigned) for member in self.members.values())
        partition_count += sum(map(len, self.target.values()))
        name_count = sum(len(member.subscribed_topic_names) for member in self.members.values())
        topic_count = len(self.initializing) + len(self.initialized) + len(self.deleting)
        return 1 + len(self.members) + (partition_count + topic_count + name_count) // _THINGS_OF_ONE
