"""The membership side of all share groups: heartbeats, departures, expired sessions, descriptions.

A heartbeat is served in this order, by whoever may await:

1. `leave` when it leaves, and that is all.
2. `topic_names` says which topics to look up in the cluster; `topics_moved` makes it ask about known ones again.
3. `admit` takes note of it, and returns the share-partitions whose durable state must be initialized first.
4. These are initialized; then `initialized`, or `initialization_failed` for those that failed.
5. `answer` computes what the member is told. Because step 4 came first, the very first answer already carries
   the assignment (the stock broker initializes in the background and assigns at the second heartbeat).
   Or it says that there is nothing to tell yet: then it is asked again when the member is called.

After every step `take_called` says whose held heartbeats are to be answered now. `assign` is due, and calls members,
at `next_deadline_ms`, where it also goes on with what it left of a large group. Between 3 and 5 other heartbeats may be
served. Nothing here is released when a member goes: records come back through their share session, their lock, or an
acknowledgement.

Source: KIP-932, "Group coordinator"; `GroupMetadataManager.java`.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from heapq import heappop, heappush
from typing import Final

from kproxy.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable, GroupIdNotFound, NonEmptyGroup
from kproxy.share.group_topics import MOST_SUBSCRIBED_NAMES, SubscribedNames
from kproxy.share.heartbeat import (
    LEAVE_EPOCH,
    MAX_SUBSCRIBED_TOPICS,
    Heartbeat,
    HeartbeatAnswer,
    HeldHeartbeat,
    TopicInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import (
    GroupId,
    MemberId,
    SharePartitionKey,
    StateEpoch,
    TopicId,
)
from kproxy.share.limits import GroupLimits
from kproxy.share.register.known_groups import KnownGroups
from kproxy.share.rounds.portions import PLACES_AT_ONCE, PLACES_OF_ONE
from kproxy.share.share_group import ShareGroup
from kproxy.share.share_group_image import ShareGroupImage
from kproxy.share.share_group_member import ExpiredMember, ShareGroupMember
from kproxy.share.views.group_views import ShareGroupView, view_of

UNBOUNDED: Final = sys.maxsize
"""As many as there are."""


class GroupCoordinator:
    """All share groups. A group, once made, stays until it is deleted, members or not."""

    __slots__ = (
        "_called",
        "_groups",
        "_round_checks",
        "_session_checks",
        "known",
        "names",
        "rebalance_count",
    )

    def __init__(self, *, most_names: int = MOST_SUBSCRIBED_NAMES) -> None:
        self.names = SubscribedNames(most_names)
        """How many all groups have: a subscription that would be too many is refused."""
        self.known = self._groups = KnownGroups()
        """The groups. Of very many that come and go together it is told directly."""
        self._session_checks: list[tuple[int, ExpiredMember]] = []
        self._round_checks: list[tuple[int, GroupId]] = []
        self._called: dict[tuple[GroupId, MemberId], None] = {}
        self.rebalance_count = 0
        """Target assignments computed so far, of all groups."""

    @property
    def group_ids(self) -> tuple[GroupId, ...]:
        """Every share group; those that were read from a log and not asked for yet come last."""
        return tuple(self._groups.ids)

    @property
    def known_ids(self) -> Collection[GroupId]:
        """The same as a view that follows what happens, to look for one id among them at no cost."""
        return self._groups.ids

    def find(self, group_id: GroupId) -> ShareGroup | None:
        """Return the group as it is now. Across an await it is good for nothing but to compare it with the next."""
        return self._groups.find(group_id)

    def restore(
        self,
        image: ShareGroupImage,
        *,
        limits: GroupLimits,
        now_ms: int,
        replaced: ShareGroup | None = None,
    ) -> None:
        """Put a group back that is durable, in place of whatever is known of it.

        All sessions begin anew, but for those of members of the `replaced` group: these end when they would have, and
        whom one could not count on there, one cannot here.
        """
        group = ShareGroup.restore(image.of_what_stays(), limits, now_ms=now_ms, names=self.names)
        if (known_before := self._groups.put(group)) is not None:
            known_before.leave()
        for member in group.members.values():
            known = None if replaced is None else replaced.members.get(member.member_id)
            if known is not None:
                member.continue_session_of(known)  # the heap has its check for this one, too
            if known is not None and not known.is_present:
                group.lose(member.member_id, now_ms)
            self._watch(group, member)
        self._note_round(group)

    def forget(self, group_id: GroupId) -> ShareGroup | None:
        """Forget a group, because it may differ from what is durable, and return it; None when there is none."""
        if (group := self._groups.pop(group_id)) is not None:
            group.leave()
        return group

    def topic_names(self, heartbeat: Heartbeat) -> frozenset[str]:
        """Return the topics that `admit` is to hear about, MAX_SUBSCRIBED_TOPICS at most.

        These are the ones that the heartbeat names and, if it is a member's, those of the group of which the
        cluster was not asked since `topics_moved`, or since the group was restored.
        """
        names = frozenset(heartbeat.subscribed_topic_names or ())
        group = self._groups.find(heartbeat.group_id)
        if group is None or heartbeat.member_id not in group.members:
            return names
        return names.union(group.topics.unasked_names(MAX_SUBSCRIBED_TOPICS - len(names)))

    def topics_moved(self) -> None:
        """Let heartbeats ask about the topics of their groups again: some topic is new, gone, or another one."""
        for group in self._groups.made():  # the others ask about all their topics anyway
            group.topics.topics_moved()

    def admit(
        self,
        heartbeat: Heartbeat,
        *,
        topics: Mapping[str, TopicPartitions | None],
        limits: GroupLimits,
        now_ms: int,
    ) -> tuple[TopicInitialization, ...]:
        """Take note of a heartbeat that does not leave; return what must be initialized before the answer.

        `topics` says of every name asked for what the cluster knows, None when there is no such topic; names
        left out keep their last description. A join makes the group when there is none.

        Raises:
            InvalidRequest: the heartbeat contradicts itself, or the members of the group would subscribe to more than
                MAX_SUBSCRIBED_TOPICS topics together.
            PolicyViolation: the members of all groups would have more `names` than they may.
            GroupIdNotFound: the group does not exist and the member does not join.
            GroupMaxSizeReached: the member is unknown and the group is full.
            UnknownMemberId: the member is unknown and does not join.
            FencedMemberEpoch: the member epoch is neither the current nor the previous one.
            CoordinatorLoadInProgress: the group is being deleted.
        """
        assert not heartbeat.is_leaving, "a member that leaves is not admitted"
        heartbeat.validate()
        makes_group = heartbeat.is_joining and heartbeat.group_id not in self._groups
        group_id = heartbeat.group_id
        group = ShareGroup(group_id, names=self.names) if makes_group else self._group(group_id)
        if group.is_being_deleted:
            raise CoordinatorLoadInProgress(f"group {heartbeat.group_id!r} is being deleted")
        initializations = group.admit(heartbeat, topics=topics, limits=limits, now_ms=now_ms)
        if makes_group:  # a member that is refused makes no group
            self._groups.put(group)
        self._watch(group, group.members[heartbeat.member_id])
        self._note_round(group)
        return initializations

    def initialized(self, group_id: GroupId, keys: Iterable[SharePartitionKey]) -> None:
        """Allow `keys`, whose durable state now exists, to be assigned, whatever became of who wanted them."""
        group = self._group(group_id)
        group.initialized(keys)
        self._note_round(group)

    def initialization_failed(self, group_id: GroupId, keys: Iterable[SharePartitionKey]) -> None:
        """Let the next heartbeat ask again for `keys`."""
        self._group(group_id).topics.state_partitions.fail(keys)

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

        One that `is_hurried` is answered in any case.

        Raises:
            UnknownMemberId: the member left or expired since it was admitted.
        """
        group = self._group(heartbeat.group_id)
        try:
            return group.answer(
                heartbeat, limits=limits, now_ms=now_ms, since_ms=since_ms, is_hurried=is_hurried
            )
        finally:
            self._note_round(group)

    def leave(self, heartbeat: Heartbeat, *, now_ms: int) -> HeartbeatAnswer:
        """Remove the member that says good-bye.

        Raises:
            InvalidRequest: the heartbeat contradicts itself.
            GroupIdNotFound: there is no such group.
            UnknownMemberId: there is no such member.
        """
        heartbeat.validate()
        group = self._group(heartbeat.group_id)
        group.remove(heartbeat.member_id, now_ms)
        self._note_round(group)
        return HeartbeatAnswer(heartbeat.member_id, LEAVE_EPOCH, heartbeat_interval_ms=0, assignment=None)

    def lose(self, group_id: GroupId, member_id: MemberId, *, now_ms: int) -> None:
        """Count on a member no more until it is heard again, if there is such a member: its connection closed."""
        group = self._groups.find(group_id)
        if group is not None:
            group.lose(member_id, now_ms)
            self._note_round(group)

    def assign(self, now_ms: int, *, at_most: int = UNBOUNDED) -> None:
        """Look at the assignment of every group for which that is due, or of some, or at a part of a large one.

        What is left after work like that on `at_most` small groups is due still (`next_deadline_ms`), and whoever
        was due before comes first. A small group's round is held as a whole.
        """
        while self._round_checks and self._round_checks[0][0] <= now_ms and at_most > 0:
            check_ms, group_id = heappop(self._round_checks)
            group = self._groups.get(group_id)
            if group is not None and group.round_check_ms == check_ms:
                group.round_check_ms = None
                done = group.assign(now_ms, at_most=max(PLACES_AT_ONCE, at_most * PLACES_OF_ONE))
                self._note_round(group)
                at_most -= 1 + done // PLACES_OF_ONE

    def take_called(self) -> tuple[tuple[GroupId, MemberId], ...]:
        """Return, once, the members whose held heartbeats are to be answered now."""
        called = tuple(self._called)
        self._called.clear()
        return called

    def expire_sessions(self, now_ms: int, *, at_most: int = UNBOUNDED) -> tuple[ExpiredMember, ...]:
        """Remove and return every member that was silent for its session timeout.

        After looks at `at_most` members, or as much work with their names and partitions, some may be left; it is due
        still then.
        """
        expired: list[ExpiredMember] = []
        while self._session_checks and self._session_checks[0][0] <= now_ms and at_most > 0:
            at_most -= 1
            check_ms, candidate = heappop(self._session_checks)
            group = self._groups.get(candidate.group_id)
            member = None if group is None else group.members.get(candidate.member_id)
            if group is None or member is None or member.session_check_ms != check_ms:
                continue  # it left, was forgotten, or another look was arranged since
            if member.session_deadline_ms <= now_ms:
                names_before = group.topics.name_count
                at_most -= len(member.relied_on) // PLACES_OF_ONE
                group.remove(member.member_id, now_ms)
                at_most -= (names_before - group.topics.name_count) // PLACES_OF_ONE
                self._note_round(group)
                expired.append(candidate)
            else:
                member.session_check_ms = None
                self._watch(group, member)
        return tuple(expired)

    def next_deadline_ms(self) -> int | None:
        """Return a moment no later than the first at which a session may run out or `assign` is due; None for never.

        It may be early: heartbeats move the end of a session, and it is looked at when the old end is
        reached.
        """
        while self._round_checks and self._is_void(self._round_checks[0]):
            heappop(self._round_checks)
        heads_ms = [checks[0][0] for checks in (self._session_checks, self._round_checks) if checks]
        return min(heads_ms, default=None)

    def topics_deleted(self, group_id: GroupId, topic_ids: Collection[TopicId]) -> None:
        """Forget topics of which the group has no durable state left. Raises GroupIdNotFound."""
        self._group(group_id).topics_deleted(topic_ids)

    def being_deleted(self) -> tuple[GroupId, ...]:
        """Return the groups whose deletion began and is not over."""
        groups = [group.group_id for group in self._groups.made() if group.is_being_deleted]
        return *groups, *(each.group_id for each in self._groups.pictures() if each.is_being_deleted)

    def require_empty(self, group_id: GroupId) -> ShareGroup:
        """Return the group; raise GroupIdNotFound if there is none, NonEmptyGroup if it has members."""
        group = self._group(group_id)
        if group.members:
            raise NonEmptyGroup("The group is not empty.")
        return group

    def begin_alteration(self, group_id: GroupId, topics: Mapping[str, TopicPartitions]) -> StateEpoch:
        """Take note that share-partitions of `topics`, by name, are about to get start offsets; `initialized` ends it.

        The group is made for some topic when there is none. Returns the lowest state epoch that is theirs from then on.

        Raises:
            NonEmptyGroup: the group has members.
            CoordinatorNotAvailable: the group is being deleted.
        """
        if not topics and group_id not in self._groups:
            return StateEpoch(0)
        if group_id not in self._groups:
            # A broker makes it with epoch 1, where a heartbeat raises that from 0.
            self._groups.put(ShareGroup(group_id, first_epoch=1, names=self.names))
        group = self.require_empty(group_id)
        if group.is_being_deleted:
            raise CoordinatorNotAvailable(f"group {group_id!r} is being deleted")
        begun = [group.topics.state_partitions.begin_alteration(*named) for named in topics.items()]
        if any(begun):
            group.note_change()
        return StateEpoch(group.group_epoch)

    def describe(self, group_id: GroupId) -> ShareGroupView:
        """Return a picture of the group, made in one piece: of a large one others take `share.views` bit by bit.

        Raises:
            GroupIdNotFound: there is no such group.
        """
        return view_of(self._group(group_id))

    def _group(self, group_id: GroupId) -> ShareGroup:
        group = self._groups.find(group_id)
        if group is None:
            raise GroupIdNotFound(f"Group {group_id} not found.")
        return group

    def _note_round(self, group: ShareGroup) -> None:
        """Make sure that the group is looked at when its next round is due, and note whom it calls now."""
        for member_id in group.take_called():
            self._called[group.group_id, member_id] = None
        self.rebalance_count += group.new_assignments
        group.new_assignments = 0
        due_ms = group.next_round_ms
        if due_ms == group.round_check_ms:
            return
        group.round_check_ms = due_ms
        if due_ms is not None:
            heappush(self._round_checks, (due_ms, group.group_id))

    def _is_void(self, check: tuple[int, GroupId]) -> bool:
        """Whether the group is looked at another time instead, or is gone."""
        check_ms, group_id = check
        group = self._groups.get(group_id)
        return group is None or group.round_check_ms != check_ms

    def _watch(self, group: ShareGroup, member: ShareGroupMember) -> None:
        """Make sure that the session is looked at no later than it ends; one such look is planned."""
        deadline_ms = member.session_deadline_ms
        if member.session_check_ms is None or deadline_ms < member.session_check_ms:
            member.session_check_ms = deadline_ms
            heappush(self._session_checks, (deadline_ms, ExpiredMember(group.group_id, member.member_id)))
