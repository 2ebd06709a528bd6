"""One share group: its members, their epochs, what is assigned to whom, and which share-partitions may be.

There is no revocation handshake in share groups: a member jumps to the newest target assignment with its next
heartbeat. But what it loses it keeps until another member was told of it (`share.coverage`). Only share-partitions
whose durable state was initialized are ever assigned.

What must outlive the process is the group's image. Each change of it has a revision, and nothing that a member
is told may rest on a revision that is not durable.

Source: KIP-932, "Share group membership"; `ShareGroup.java`, `GroupMetadataManager.java`.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from kproxy.errors import GroupMaxSizeReached, UnknownMemberId
from kproxy.share.group_assignment import GroupAssignment
from kproxy.share.group_topics import GroupTopics, SubscribedNames, subscription
from kproxy.share.heartbeat import (
    Heartbeat,
    HeartbeatAnswer,
    HeldHeartbeat,
    TopicInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import (
    AssignmentEpoch,
    GroupEpoch,
    GroupId,
    MemberEpoch,
    MemberId,
    SharePartitionKey,
    TopicId,
    TopicIdPartition,
)
from kproxy.share.limits import GroupLimits
from kproxy.share.rounds.portions import PLACES_AT_ONCE
from kproxy.share.share_group_image import MemberImage, ShareGroupImage, ShareGroupState
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata


class ShareGroup:
    """The state of one share group. A heartbeat is `admit`ted, then `answer`ed."""

    __slots__ = (
        "_assignment",
        "_image",
        "_member_images",
        "assignment_epoch",
        "changes",
        "durable_revision",
        "group_epoch",
        "group_id",
        "is_being_deleted",
        "is_deleted",
        "members",
        "new_assignments",
        "revision",
        "round_check_ms",
        "topics",
    )

    def __init__(self, group_id: GroupId, first_epoch: int = 0, names: SubscribedNames | None = None) -> None:
        self.group_id = group_id
        self.group_epoch = GroupEpoch(first_epoch)
        self.assignment_epoch = AssignmentEpoch(first_epoch)
        self.members: dict[MemberId, ShareGroupMember] = {}
        self.revision = 0
        """Rises with every change of the image, and then the group stands among the `changes`, if there are any."""
        self.changes: dict[GroupId, None] | None = None
        self.durable_revision = 0
        """The newest revision that is known to be durable; whoever made it so says so here."""
        self.round_check_ms: int | None = None
        """When the coordinator looks next whether a round is due."""
        self.new_assignments = 0
        """Target assignments computed since the coordinator counted them."""
        self.is_being_deleted = False
        """Nobody joins any more: once it has no durable state, it is gone."""
        self.is_deleted = False  # and its id is free, maybe another group's
        self.topics = GroupTopics(StatePartitionMetadata(), names)
        self._assignment = GroupAssignment(self.topics, self.members)
        self._image: ShareGroupImage | None = None
        self._member_images: dict[MemberId, MemberImage] = {}

    @classmethod
    def restore(
        cls, image: ShareGroupImage, limits: GroupLimits, *, now_ms: int, names: SubscribedNames | None = None
    ) -> "ShareGroup":
        """Rebuild a group from its durable image, so that its members notice nothing.

        1. Epochs, members and assignments are those of the image; every session begins anew.
        2. The topics are those that the group saw last, so that the group epoch does not rise because the next
           heartbeat asks the cluster again.
        3. What the target assignment was computed from is what it hands out: every assignable partition is
           with somebody. If more was initialized since, the next round computes another one.
        4. What was initializing is initialized again by the next heartbeat.
        5. Members are counted on for as long as they have to be heard again: one heartbeat interval.
        """
        group = cls(image.group_id, names=names)
        group.group_epoch, group.assignment_epoch = image.group_epoch, image.assignment_epoch
        group.is_being_deleted = image.is_being_deleted
        deadline_ms = now_ms + limits.session_timeout_ms
        group.members.update(
            (member_id, ShareGroupMember.restore(member_id, member, deadline_ms))
            for member_id, member in image.members.items()
        )
        group._assignment.restore(image.target, limits, now_ms=now_ms)
        group.topics.state_partitions = StatePartitionMetadata.restore(
            initializing=image.initializing, initialized=image.initialized, deleting=image.deleting
        )
        group.topics.restore(
            (member.subscribed_topic_names for member in group.members.values()),
            None if group._is_stale else group._assignment.assigned_from,
        )
        group._image, group._member_images = image, dict(image.members)
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
        return self.topics.state_partitions.topic_names

    @property
    def deleting_topic_ids(self) -> tuple[TopicId, ...]:
        """The topics whose share-partitions are losing their durable state."""
        return tuple(self.topics.state_partitions.deleting)

    @property
    def next_round_ms(self) -> int | None:
        """When `assign` has something to do; None when nothing asks for it."""
        return self._assignment.next_round_ms(is_stale=self._is_stale or self._assignment.is_outdated())

    def image(self) -> ShareGroupImage:
        """Return what must outlive the process; the same object as long as nothing of it changes."""
        if self._image is None:
            self._image = ShareGroupImage(
                group_id=self.group_id,
                group_epoch=self.group_epoch,
                assignment_epoch=self.assignment_epoch,
                members=dict(self._member_images),
                target=dict(self._assignment.target),
                initializing=self.topics.state_partitions.initializing,
                initialized=self.topics.state_partitions.initialized,
                deleting=self.topics.state_partitions.deleting,
                is_being_deleted=self.is_being_deleted,
            )
        return self._image

    def admit(
        self,
        heartbeat: Heartbeat,
        *,
        topics: Mapping[str, TopicPartitions | None],
        limits: GroupLimits,
        now_ms: int,
    ) -> tuple[TopicInitialization, ...]:
        """Take note of a valid heartbeat, which does not leave, and return what must be initialized first.

        1. The member, its epoch and its subscription are checked; nothing has changed when one of these raises.
        2. The group epoch rises when a subscription or a subscribed topic changed, so that the next answer
           computes an assignment.
        3. The member's session begins anew, and it is counted on to consume what it was told.

        Raises:
            InvalidRequest: all members together would subscribe to too many topics.
            PolicyViolation: the members of all groups would.
            GroupMaxSizeReached: the member is unknown and the group is full.
            UnknownMemberId: the member is unknown and does not join.
            FencedMemberEpoch: the member epoch is neither the current nor the previous one.
        """
        member = self._member_of(heartbeat, limits)
        has_new_subscription = self._note(member, heartbeat)
        has_changed = self.topics.learn(topics) or has_new_subscription
        if has_changed:
            self._raise_group_epoch()
        self._assignment.heard(
            member, limits, is_joining=heartbeat.is_joining, has_changed=has_changed, now_ms=now_ms
        )
        if heartbeat.is_joining or has_new_subscription:
            self._assignment.await_round(member, now_ms)
        member.hear(limits, now_ms)
        begun = tuple(self.topics.begin_initializations(self.group_id, self.group_epoch, limits, now_ms))
        if begun:
            self.note_change()
        return begun

    def answer(
        self,
        heartbeat: Heartbeat,
        *,
        limits: GroupLimits,
        now_ms: int,
        since_ms: int | None = None,
        is_hurried: bool = False,
    ) -> HeartbeatAnswer | HeldHeartbeat:
        """Answer an admitted heartbeat, which came at `since_ms` (now, if nobody says when), or tell to ask again.

        The assignment is told when the member joins, names its topics, or got another one by this call. Whoever
        joins or subscribes anew waits for the round that is for it, everybody else for a change, at most as long as
        the limits say; one that `is_hurried` does not. Whom this concerns besides stands in `take_called`.

        Raises:
            UnknownMemberId: the member left or expired since it was admitted.
        """
        if (member := self.members.get(heartbeat.member_id)) is None:
            raise self._unknown(heartbeat.member_id)
        self.assign(now_ms)
        if is_hurried and self.assignment_epoch == 0:
            self._require_assignment(now_ms)
        must_tell = heartbeat.is_joining or heartbeat.subscribed_topic_names is not None
        share = self._assignment.share_of(member)
        until_ms = None
        if not is_hurried:
            came_ms = now_ms if since_ms is None else since_ms
            until_ms = self._assignment.held_until_ms(
                member, came_ms, share=share, must_tell=must_tell, is_stale=self._is_stale
            )
            until_ms = self._assignment.put_off(member, until_ms, now_ms)
        if until_ms is not None and now_ms < until_ms:
            member.is_waiting = True
            return HeldHeartbeat(until_ms)
        member.is_waiting, member.awaited_round = False, None
        member.session_deadline_ms = now_ms + limits.session_timeout_ms
        has_changed = self._reconcile(member, share, now_ms)
        return HeartbeatAnswer(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=limits.heartbeat_interval_ms,
            assignment=self.topics.named(member.assigned) if must_tell or has_changed else None,
        )

    def assign(self, now_ms: int, *, at_most: int | None = None) -> int:
        """Hold a round if one is due, go on with one that is under way; return how many places were looked at.

        The rest is due still behind about `at_most`. Without it that is what may be done in any call, and what is under
        way is left to whoever says how much, unless nobody came for a second.
        """
        self._note_initialized(now_ms)
        at_once, done = PLACES_AT_ONCE if at_most is None else at_most, 0
        if at_most is not None or not self._assignment.is_worked_on(now_ms):
            done = self._assignment.go_on(now_ms, at_most=at_once)
        due_ms = self.next_round_ms
        if self._assignment.is_under_way or due_ms is None or due_ms > now_ms:
            return done
        return done + self._begin_round(now_ms, at_most=at_once)

    def take_called(self) -> tuple[MemberId, ...]:
        """Return, once, the members whose held heartbeats are to be answered now."""
        return self._assignment.take_called()

    def lose(self, member_id: MemberId, now_ms: int) -> None:
        """Count on a member no more until it is heard again: its connection closed. It stays a member."""
        if (member := self.members.get(member_id)) is not None:
            self._assignment.lose(member, now_ms)

    def remove(self, member_id: MemberId, now_ms: int) -> None:
        """Remove a member that leaves or whose session ran out. What it acquired stays acquired.

        An emptied group has nothing left to assign, and computes at once for whoever joins next (as of Kafka
        4.4; 4.3.1 lets it wait for the assignment interval).

        Raises:
            UnknownMemberId: there is no such member.
        """
        if (member := self.members.pop(member_id, None)) is None:
            raise self._unknown(member_id)
        del self._member_images[member_id]
        self.topics.subscribe(member.subscribed_topic_names, frozenset())
        self._assignment.remove(member, now_ms)
        self._raise_group_epoch()
        if not self.members:
            self._assignment.clear()
            self.assignment_epoch = AssignmentEpoch(self.group_epoch)

    def initialized(self, keys: Iterable[SharePartitionKey]) -> None:
        """Allow `keys`, whose durable state now exists, to be assigned; not those whose topic was deleted."""
        if self.topics.state_partitions.finish(keys):
            self.note_change()

    def leave(self) -> None:
        """Be none of the process any more: its names do not count, and a round, which would keep it, is given up."""
        self.topics.leave()
        self._assignment.give_up_round()

    def begin_deletion(self) -> None:
        """Give up the group, which has no members. What is `deleting` in its image is to be deleted first."""
        assert not self.members, f"{self.group_id!r} has members"
        # Of a deletion that was interrupted this may not be durable yet: it stands in a record of its own.
        if self.topics.begin_deletion(tuple(self.state_topic_names)) or not self.is_being_deleted:
            self.is_being_deleted = True
            self.note_change()

    def delete_topics(self, topic_ids: Collection[TopicId]) -> None:
        """Give up the share-partitions of these topics. What is `deleting` in the group's image is to be deleted.

        They are not assigned any more, nor initialized before `topics_deleted`.
        """
        if self.topics.begin_deletion(topic_ids):
            self.note_change()

    def topics_deleted(self, topic_ids: Iterable[TopicId]) -> None:
        """Forget topics of which no durable state is left."""
        if self.topics.state_partitions.finish_deletion(topic_ids):
            self.note_change()

    def _member_of(self, heartbeat: Heartbeat, limits: GroupLimits) -> ShareGroupMember:
        """Return the member, made but not yet added when it joins."""
        if (member := self.members.get(heartbeat.member_id)) is None:
            if len(self.members) >= limits.max_size:
                raise GroupMaxSizeReached(f"{self.group_id!r} is at group.share.max.size={limits.max_size}")
            if not heartbeat.is_joining:
                raise self._unknown(heartbeat.member_id)
            return ShareGroupMember(heartbeat.member_id)
        member.require_epoch(heartbeat)
        return member

    def _note(self, member: ShareGroupMember, heartbeat: Heartbeat) -> bool:
        """Write down what the member says of itself; tell whether its subscription changed."""
        before = names = member.subscribed_topic_names
        if heartbeat.subscribed_topic_names is not None:
            names = subscription(heartbeat.subscribed_topic_names)
            self.topics.require_room(before, names)
        self.members[member.member_id] = member
        member.note(heartbeat, names)
        self._note_member(member)
        return self.topics.subscribe(before, names)

    def _begin_round(self, now_ms: int, *, at_most: int) -> int:
        """Begin a round for the group as it is now; others may change it before it is over. Return how much is done."""
        computes = self._is_stale and self._assignment.may_compute(now_ms)
        take_over = partial(self._take_over, AssignmentEpoch(self.group_epoch))
        self._assignment.begin_round(now_ms, computes=computes, on_computed=take_over)
        return self._assignment.go_on(now_ms, at_most=at_most)

    def _take_over(self, epoch: AssignmentEpoch) -> None:
        """Let a target assignment that was computed for the group at `epoch` be the one that counts."""
        self.assignment_epoch = epoch
        self.new_assignments += 1
        self.note_change()

    def _require_assignment(self, now_ms: int) -> None:
        """See to it that there is an assignment, if that of nothing, for a member that cannot wait.

        Kafka tells no member epoch 0: who was told it would seem to join again and again.
        """
        if not self._assignment.is_under_way:
            self._begin_round(now_ms, at_most=PLACES_AT_ONCE)
        if self.assignment_epoch == 0:
            self._assignment.give_up_round()
            self._take_over(AssignmentEpoch(self.group_epoch))
            self._raise_group_epoch()

    @property
    def _is_stale(self) -> bool:
        return self.assignment_epoch < self.group_epoch

    def _note_initialized(self, now_ms: int) -> None:
        """Let the assignment follow partitions that were initialized, or lost their state, since it was computed."""
        if not self._is_stale and self._assignment.is_outdated():
            self._raise_group_epoch()
            self._assignment.note_change(now_ms)

    def _reconcile(self, member: ShareGroupMember, share: frozenset[TopicIdPartition], now_ms: int) -> bool:
        """Let `member` have its share of the target assignment; tell whether that changed what it has."""
        member.reach(MemberEpoch(self.assignment_epoch))
        has_changed = share != member.assigned
        self._assignment.tell(member, share, now_ms)
        self._note_member(member)
        return has_changed

    def _raise_group_epoch(self) -> None:
        self.group_epoch = GroupEpoch(self.group_epoch + 1)
        self.note_change()

    def _note_member(self, member: ShareGroupMember) -> None:
        """Let the group's image follow the member's. Only this one is made anew: groups are large."""
        image = member.image()
        if self._member_images.get(member.member_id) != image:
            self._member_images[member.member_id] = image
            self.note_change()

    def note_change(self) -> None:
        """Let the image be made anew, as another revision."""
        self.revision, self._image = self.revision + 1, None
        if self.changes is not None:
            self.changes[self.group_id] = None

    def _unknown(self, member_id: MemberId) -> UnknownMemberId:
        return UnknownMemberId(f"{member_id!r} is no member of group {self.group_id!r}")
