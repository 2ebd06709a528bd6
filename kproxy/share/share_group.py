"""One share group: its members, their epochs, what is assigned to whom, and which share-partitions may be.

There is no revocation handshake in share groups: a member jumps to the newest target assignment with its next
heartbeat. Only share-partitions whose durable state was initialized are ever assigned.

What must outlive the process is the group's image. Each change of it has a revision, and nothing that a member
is told may rest on a revision that is not durable.

Source: KIP-932, "Share group membership"; `ShareGroup.java`, `GroupMetadataManager.java`.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum

from kproxy.errors import FencedMemberEpoch, GroupMaxSizeReached, UnknownMemberId
from kproxy.share.assignor import assign
from kproxy.share.heartbeat import (
    JOIN_EPOCH,
    AssignedTopic,
    Heartbeat,
    HeartbeatAnswer,
    PartitionInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    SharePartitionKey,
    StateEpoch,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata


class ShareGroupState(Enum):
    """The states of a share group, as they are spelt on the wire."""

    EMPTY = "Empty"
    STABLE = "Stable"


class ShareGroup:
    """The state of one share group. A heartbeat is `admit`ted, then `answer`ed."""

    __slots__ = (
        "_assigned_from",
        "_image",
        "_last_assigned_ms",
        "_state_partitions",
        "_target",
        "_topics",
        "assignment_epoch",
        "durable_revision",
        "group_epoch",
        "group_id",
        "members",
        "revision",
    )

    def __init__(self, group_id: GroupId) -> None:
        self.group_id = group_id
        self.group_epoch = GroupEpoch(0)
        self.assignment_epoch = AssignmentEpoch(0)
        self.members: dict[MemberId, ShareGroupMember] = {}
        self.revision = 0
        """Rises with every change of the image."""
        self.durable_revision = 0
        """The newest revision that is known to be durable; whoever made it so says so here."""
        self._topics: dict[str, TopicPartitions] = {}
        self._state_partitions = StatePartitionMetadata()
        self._target: Mapping[MemberId, frozenset[TopicIdPartition]] = {}
        self._assigned_from: Mapping[TopicId, frozenset[int]] = {}
        self._last_assigned_ms: int | None = None
        self._image: ShareGroupImage | None = None

    @classmethod
    def restore(cls, image: ShareGroupImage, limits: GroupLimits, *, now_ms: int) -> "ShareGroup":
        """Rebuild a group from its durable image, so that its members notice nothing.

        1. Epochs, members and assignments are those of the image; every session begins anew.
        2. The topics are those that the group saw last, so that the group epoch does not rise because the next
           heartbeat asks the cluster again.
        3. What the target assignment was computed from is what it hands out: every assignable partition is
           with somebody. If more was initialized since, the next heartbeat computes another one.
        4. What was initializing is initialized again by the next heartbeat.
        """
        group = cls(image.group_id)
        group.group_epoch = image.group_epoch
        group.assignment_epoch = image.assignment_epoch
        deadline_ms = now_ms + limits.session_timeout_ms
        group.members = {
            member_id: ShareGroupMember.restore(member_id, member, deadline_ms)
            for member_id, member in image.members.items()
        }
        group._state_partitions = StatePartitionMetadata.restore(
            initializing=image.initializing, initialized=image.initialized, deleting=image.deleting
        )
        group._target = dict(image.target)
        group._assigned_from = _by_topic(image.target.values())
        group._topics = group._last_known_topics()
        group._image = image
        return group

    @property
    def state(self) -> ShareGroupState:
        """Empty without members, else Stable: a share group knows no other state."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def has_undurable_changes(self) -> bool:
        """Whether the image has changed since it was known to be durable."""
        return self.revision != self.durable_revision

    @property
    def state_topic_names(self) -> Mapping[TopicId, str]:
        """The topics of which share-partitions have durable state, or are to get it, and are not being deleted."""
        return self._state_partitions.topic_names

    @property
    def deleting_topic_ids(self) -> tuple[TopicId, ...]:
        """The topics whose share-partitions are losing their durable state."""
        return tuple(self._state_partitions.deleting)

    @property
    def subscribed_topic_names(self) -> frozenset[str]:
        """Every topic that some member subscribed to."""
        return frozenset().union(*(member.subscribed_topic_names for member in self.members.values()))

    def image(self) -> ShareGroupImage:
        """Return what must outlive the process; the same object as long as nothing of it changes."""
        if self._image is None:
            self._image = ShareGroupImage(
                group_id=self.group_id,
                group_epoch=self.group_epoch,
                assignment_epoch=self.assignment_epoch,
                members={member_id: member.image() for member_id, member in self.members.items()},
                target=dict(self._target),
                initializing=self._state_partitions.initializing,
                initialized=self._state_partitions.initialized,
                deleting=self._state_partitions.deleting,
            )
        return self._image

    def admit(
        self,
        heartbeat: Heartbeat,
        *,
        topics: Mapping[str, TopicPartitions | None],
        limits: GroupLimits,
        now_ms: int,
    ) -> tuple[PartitionInitialization, ...]:
        """Take note of a valid heartbeat, which does not leave, and return what must be initialized first.

        1. The member is looked up and its epoch checked; nothing has changed when one of these raises.
        2. The group epoch rises when a subscription or a subscribed topic changed, so that the next answer
           computes an assignment.
        3. The member's session begins anew.

        Raises:
            GroupMaxSizeReached: the member is unknown and the group is full.
            UnknownMemberId: the member is unknown and does not join.
            FencedMemberEpoch: the member epoch is neither the current nor the previous one.
        """
        member = self._member_of(heartbeat, limits)
        has_new_subscription = self._note(member, heartbeat)
        has_new_topics = self._learn(topics)
        if has_new_subscription or has_new_topics:
            self._raise_group_epoch()
        member.session_deadline_ms = now_ms + limits.session_timeout_ms
        return tuple(self._initializations(limits, now_ms))

    def answer(self, heartbeat: Heartbeat, *, limits: GroupLimits, now_ms: int) -> HeartbeatAnswer:
        """Answer an admitted heartbeat: compute the target assignment when due, move the member to it.

        The assignment is told when the member joins, names its topics, or got another one by this call.

        Raises:
            UnknownMemberId: the member left or expired since it was admitted.
        """
        member = self.members.get(heartbeat.member_id)
        if member is None:
            raise self._unknown(heartbeat.member_id)
        self._reassign(limits, now_ms)
        has_changed = self._reconcile(member)
        is_told = heartbeat.is_joining or heartbeat.subscribed_topic_names is not None or has_changed
        return HeartbeatAnswer(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=limits.heartbeat_interval_ms,
            assignment=self.assignment_of(member) if is_told else None,
        )

    def remove(self, member_id: MemberId) -> None:
        """Remove a member that leaves or whose session ran out. What it acquired stays acquired.

        An emptied group has nothing left to assign, and computes at once for whoever joins next (as of Kafka
        4.4; 4.3.1 lets it wait for the assignment interval).

        Raises:
            UnknownMemberId: there is no such member.
        """
        if self.members.pop(member_id, None) is None:
            raise self._unknown(member_id)
        self._raise_group_epoch()
        if not self.members:
            self._target = {}
            self._assigned_from = {}
            self._last_assigned_ms = None
            self.assignment_epoch = AssignmentEpoch(self.group_epoch)

    def initialized(self, keys: Iterable[SharePartitionKey]) -> None:
        """Allow `keys`, whose durable state now exists, to be assigned; not those whose topic was deleted."""
        if self._state_partitions.finish(_partitions(keys)):
            self._note_change()

    def initialization_failed(self, keys: Iterable[SharePartitionKey]) -> None:
        """Let the next heartbeat ask again for `keys`, which may have durable state or not."""
        self._state_partitions.fail(_partitions(keys))

    def delete_topics(self, topic_ids: Collection[TopicId]) -> tuple[SharePartitionKey, ...]:
        """Give up the share-partitions of these topics, and return those whose durable state must be deleted.

        These are the ones of a deletion that was interrupted, too. They are not assigned any more, nor
        initialized before `topics_deleted`.
        """
        partitions = self._state_partitions.begin_deletion(topic_ids)
        if partitions:
            self._note_change()
        return tuple(
            SharePartitionKey(self.group_id, partition.topic_id, partition.partition)
            for partition in partitions
        )

    def topics_deleted(self, topic_ids: Iterable[TopicId]) -> None:
        """Forget topics of which no durable state is left."""
        if self._state_partitions.finish_deletion(topic_ids):
            self._note_change()

    def assignment_of(self, member: ShareGroupMember) -> tuple[AssignedTopic, ...]:
        """Return what `member` was assigned, by topic name; a topic deleted meanwhile is left out."""
        partitions_of: dict[TopicId, list[int]] = {}
        for partition in member.assigned:
            partitions_of.setdefault(partition.topic_id, []).append(partition.partition)
        return tuple(
            AssignedTopic(topic.topic_id, name, tuple(sorted(partitions_of[topic.topic_id])))
            for name, topic in sorted(self._topics.items())
            if topic.topic_id in partitions_of
        )

    def _member_of(self, heartbeat: Heartbeat, limits: GroupLimits) -> ShareGroupMember:
        """Return the member, made but not yet added when it joins."""
        member = self.members.get(heartbeat.member_id)
        if member is None:
            if len(self.members) >= limits.max_size:
                raise GroupMaxSizeReached(f"group {self.group_id!r} has {len(self.members)} members already")
            if not heartbeat.is_joining:
                raise self._unknown(heartbeat.member_id)
            return ShareGroupMember(heartbeat.member_id)
        if heartbeat.member_epoch not in (JOIN_EPOCH, member.member_epoch, member.previous_member_epoch):
            raise FencedMemberEpoch(
                f"member epoch {heartbeat.member_epoch} is not {member.member_epoch} in {self.group_id!r}"
            )
        return member

    def _note(self, member: ShareGroupMember, heartbeat: Heartbeat) -> bool:
        """Write down what the member says of itself; tell whether its subscription changed."""
        before = self.members.get(member.member_id)
        was = (member.client_id, member.client_host, member.rack_id, member.subscribed_topic_names)
        self.members[member.member_id] = member
        member.client_id = heartbeat.client_id
        member.client_host = heartbeat.client_host
        if heartbeat.rack_id is not None:
            member.rack_id = heartbeat.rack_id
        if heartbeat.subscribed_topic_names is not None:
            member.subscribed_topic_names = frozenset(heartbeat.subscribed_topic_names)
        now = (member.client_id, member.client_host, member.rack_id, member.subscribed_topic_names)
        if before is None or now != was:
            self._note_change()
        return now[-1] != was[-1]

    def _learn(self, topics: Mapping[str, TopicPartitions | None]) -> bool:
        """Take over what the cluster says of the subscribed topics; tell whether any of it is new.

        A name that is not in `topics` was not asked for (another member joined meanwhile): it stays as known.
        """
        known = {**self._topics, **topics}
        current = {
            name: topic for name in self.subscribed_topic_names if (topic := known.get(name)) is not None
        }
        has_changed = current != self._topics
        self._topics = current
        return has_changed

    def _last_known_topics(self) -> dict[str, TopicPartitions]:
        """Return what the group saw of its topics before it was restored.

        Under a current assignment a topic that is initialized and with nobody was gone from the cluster already.
        """
        is_current = self.assignment_epoch >= self.group_epoch
        gone = self._state_partitions.initialized.keys() - self._assigned_from.keys() if is_current else set()
        last_known = self._state_partitions.last_known_topics(apart_from=gone)
        names = self.subscribed_topic_names
        return {name: topic for name, topic in last_known.items() if name in names}

    def _initializations(self, limits: GroupLimits, now_ms: int) -> Iterable[PartitionInitialization]:
        """Mark as initializing, and yield, what is neither initialized nor recently begun."""
        for name, topic in self._topics.items():
            begun = self._state_partitions.begin(
                name, topic, retry_interval_ms=limits.initialize_retry_interval_ms, now_ms=now_ms
            )
            if begun:
                self._note_change()
            for partition in begun:
                key = SharePartitionKey(self.group_id, topic.topic_id, partition.number)
                yield PartitionInitialization(key, StateEpoch(self.group_epoch), partition.start_offset)

    def _reassign(self, limits: GroupLimits, now_ms: int) -> None:
        """Compute the target assignment when the group epoch, or the initialized partitions, moved past it.

        Not more often than the assignment interval. A computation with nothing to assign does not count, so
        that the first initialized partitions are not kept waiting.
        """
        assignable = self._assignable()
        is_current = self.assignment_epoch >= self.group_epoch
        if is_current and assignable == self._assigned_from:
            return
        if is_current:
            self._raise_group_epoch()
        if not self._is_assignment_due(limits, now_ms):
            return
        subscriptions = {
            member.member_id: self._topic_ids(member.subscribed_topic_names)
            for member in self.members.values()
        }
        self._target = assign(subscriptions, assignable, self._target)
        self._assigned_from = assignable
        self._last_assigned_ms = now_ms if assignable else None
        self.assignment_epoch = AssignmentEpoch(self.group_epoch)
        self._note_change()

    def _is_assignment_due(self, limits: GroupLimits, now_ms: int) -> bool:
        last_ms = self._last_assigned_ms
        return last_ms is None or now_ms - last_ms >= limits.assignment_interval_ms

    def _assignable(self) -> dict[TopicId, frozenset[int]]:
        return {
            topic.topic_id: initialized
            for topic in self._topics.values()
            if (initialized := self._state_partitions.initialized_of(topic.topic_id))
        }

    def _reconcile(self, member: ShareGroupMember) -> bool:
        """Move `member` to the target assignment, of its own topics; tell whether that changed it."""
        member_epoch = MemberEpoch(self.assignment_epoch)
        if member.member_epoch != member_epoch:
            member.previous_member_epoch = member.member_epoch
            member.member_epoch = member_epoch
            self._note_change()
        topic_ids = self._topic_ids(member.subscribed_topic_names)
        target = self._target.get(member.member_id, frozenset())
        before = member.assigned
        member.assigned = frozenset(partition for partition in target if partition.topic_id in topic_ids)
        if member.assigned == before:
            return False
        self._note_change()
        return True

    def _topic_ids(self, names: Iterable[str]) -> frozenset[TopicId]:
        return frozenset(self._topics[name].topic_id for name in names if name in self._topics)

    def _raise_group_epoch(self) -> None:
        self.group_epoch = GroupEpoch(self.group_epoch + 1)
        self._note_change()

    def _note_change(self) -> None:
        self.revision += 1
        self._image = None

    def _unknown(self, member_id: MemberId) -> UnknownMemberId:
        return UnknownMemberId(f"{member_id!r} is no member of group {self.group_id!r}")


def _partitions(keys: Iterable[SharePartitionKey]) -> Iterable[TopicIdPartition]:
    return (TopicIdPartition(key.topic_id, key.partition) for key in keys)


def _by_topic(held: Iterable[frozenset[TopicIdPartition]]) -> Mapping[TopicId, frozenset[int]]:
    numbers: dict[TopicId, set[int]] = {}
    for partition in frozenset[TopicIdPartition]().union(*held):
        numbers.setdefault(partition.topic_id, set()).add(partition.partition)
    return {topic_id: frozenset(of_topic) for topic_id, of_topic in numbers.items()}
