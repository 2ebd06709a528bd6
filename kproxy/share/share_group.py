"""One share group: its members, their epochs, what is assigned to whom, and which share-partitions may be.

There is no revocation handshake in share groups: a member jumps to the newest target assignment with its next
heartbeat. Only share-partitions whose durable state was initialized are ever assigned.

Source: KIP-932, "Share group membership"; `ShareGroup.java`, `GroupMetadataManager.java`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from kproxy.errors import FencedMemberEpoch, GroupMaxSizeReached, UnknownMemberId
from kproxy.share.assignor import assign
from kproxy.share.heartbeat import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
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
from kproxy.share.state_batches import UNKNOWN_START_OFFSET


class ShareGroupState(Enum):
    """The states of a share group, as they are spelt on the wire."""

    EMPTY = "Empty"
    STABLE = "Stable"


@dataclass(slots=True)
class ShareGroupMember:
    """One member, as its heartbeats describe it, and what it was told last."""

    member_id: MemberId
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    member_epoch: MemberEpoch = JOIN_EPOCH
    previous_member_epoch: MemberEpoch = LEAVE_EPOCH
    assigned: frozenset[TopicIdPartition] = frozenset()
    session_deadline_ms: int = 0
    session_check_ms: int | None = None


class ShareGroup:
    """The state of one share group. A heartbeat is `admit`ted, then `answer`ed."""

    __slots__ = (
        "_assigned_from",
        "_initialized",
        "_initializing_since_ms",
        "_last_assigned_ms",
        "_target",
        "_topics",
        "assignment_epoch",
        "group_epoch",
        "group_id",
        "members",
    )

    def __init__(self, group_id: GroupId) -> None:
        self.group_id = group_id
        self.group_epoch = GroupEpoch(0)
        self.assignment_epoch = AssignmentEpoch(0)
        self.members: dict[MemberId, ShareGroupMember] = {}
        self._topics: dict[str, TopicPartitions] = {}
        self._initialized: dict[TopicId, frozenset[int]] = {}
        self._initializing_since_ms: dict[TopicIdPartition, int] = {}
        self._target: Mapping[MemberId, frozenset[TopicIdPartition]] = {}
        self._assigned_from: Mapping[TopicId, frozenset[int]] = {}
        self._last_assigned_ms: int | None = None

    @property
    def state(self) -> ShareGroupState:
        """Empty without members, else Stable: a share group knows no other state."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def subscribed_topic_names(self) -> frozenset[str]:
        """Every topic that some member subscribed to."""
        return frozenset().union(*(member.subscribed_topic_names for member in self.members.values()))

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
        for key in keys:
            partition = TopicIdPartition(key.topic_id, key.partition)
            if self._initializing_since_ms.pop(partition, None) is not None:
                initialized = self._initialized.get(key.topic_id, frozenset())
                self._initialized[key.topic_id] = initialized | {key.partition}

    def initialization_failed(self, keys: Iterable[SharePartitionKey]) -> None:
        """Let the next heartbeat ask again for `keys`."""
        for key in keys:
            self._initializing_since_ms.pop(TopicIdPartition(key.topic_id, key.partition), None)

    def delete_topics(self, topic_ids: Collection[TopicId]) -> tuple[SharePartitionKey, ...]:
        """Forget the share-partitions of deleted topics and return those whose durable state may exist."""
        forgotten = [
            TopicIdPartition(topic, p) for topic in topic_ids for p in self._initialized.pop(topic, ())
        ]
        under_way = [
            partition for partition in self._initializing_since_ms if partition.topic_id in topic_ids
        ]
        for partition in under_way:
            del self._initializing_since_ms[partition]
        return tuple(
            SharePartitionKey(self.group_id, partition.topic_id, partition.partition)
            for partition in (*forgotten, *under_way)
        )

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
        self.members[member.member_id] = member
        member.client_id = heartbeat.client_id
        member.client_host = heartbeat.client_host
        if heartbeat.rack_id is not None:
            member.rack_id = heartbeat.rack_id
        if heartbeat.subscribed_topic_names is None:
            return False
        before = member.subscribed_topic_names
        member.subscribed_topic_names = frozenset(heartbeat.subscribed_topic_names)
        return member.subscribed_topic_names != before

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

    def _initializations(self, limits: GroupLimits, now_ms: int) -> Iterable[PartitionInitialization]:
        """Mark as initializing, and yield, what is neither initialized nor recently begun.

        Partitions added to a topic that the group knows begin at offset 0, so that nothing produced before
        this moment is missed (as of Kafka 4.4; 4.3.1 applies the auto reset to them too).
        """
        for topic in self._topics.values():
            initialized = self._initialized.get(topic.topic_id, frozenset())
            start_offset = 0 if initialized else UNKNOWN_START_OFFSET
            for number in range(topic.partition_count if len(initialized) < topic.partition_count else 0):
                partition = TopicIdPartition(topic.topic_id, number)
                since_ms = self._initializing_since_ms.get(partition)
                is_under_way = (
                    since_ms is not None and now_ms - since_ms < limits.initialize_retry_interval_ms
                )
                if number not in initialized and not is_under_way:
                    self._initializing_since_ms[partition] = now_ms
                    key = SharePartitionKey(self.group_id, topic.topic_id, number)
                    yield PartitionInitialization(key, StateEpoch(self.group_epoch), start_offset)

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

    def _is_assignment_due(self, limits: GroupLimits, now_ms: int) -> bool:
        last_ms = self._last_assigned_ms
        return last_ms is None or now_ms - last_ms >= limits.assignment_interval_ms

    def _assignable(self) -> dict[TopicId, frozenset[int]]:
        return {
            topic.topic_id: self._initialized[topic.topic_id]
            for topic in self._topics.values()
            if topic.topic_id in self._initialized
        }

    def _reconcile(self, member: ShareGroupMember) -> bool:
        """Move `member` to the target assignment, of its own topics; tell whether that changed it."""
        member_epoch = MemberEpoch(self.assignment_epoch)
        if member.member_epoch != member_epoch:
            member.previous_member_epoch = member.member_epoch
            member.member_epoch = member_epoch
        topic_ids = self._topic_ids(member.subscribed_topic_names)
        target = self._target.get(member.member_id, frozenset())
        before = member.assigned
        member.assigned = frozenset(partition for partition in target if partition.topic_id in topic_ids)
        return member.assigned != before

    def _topic_ids(self, names: Iterable[str]) -> frozenset[TopicId]:
        return frozenset(self._topics[name].topic_id for name in names if name in self._topics)

    def _raise_group_epoch(self) -> None:
        self.group_epoch = GroupEpoch(self.group_epoch + 1)

    def _unknown(self, member_id: MemberId) -> UnknownMemberId:
        return UnknownMemberId(f"{member_id!r} is no member of group {self.group_id!r}")
