"""The target assignment of one share group, and the rounds in which its members come to hear of it."""

from collections.abc import Iterable, Mapping
from functools import cache

from kproxy.share.assignment_rounds import AssignmentRounds
from kproxy.share.assignor import Assignment, assign
from kproxy.share.coverage import Coverage
from kproxy.share.group_topics import GroupTopics
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_member import ShareGroupMember


class GroupAssignment:
    """Who is to have what, who can be counted on to have it, and who is to be called.

    Args:
        topics: what the group knows of its topics.
        members: the members of the group, in the order in which they joined; followed as it changes.
    """

    __slots__ = (
        "_called",
        "_coverage",
        "_heard_by_ms",
        "_limits",
        "_members",
        "_rounds",
        "_subscriptions",
        "_topics",
        "_unheard",
        "assigned_from",
        "target",
    )

    def __init__(self, topics: GroupTopics, members: Mapping[MemberId, ShareGroupMember]) -> None:
        self.target: Assignment = {}
        self.assigned_from: Mapping[TopicId, frozenset[int]] = {}
        """The partitions that there were to assign when the target assignment was computed."""
        self._topics = topics
        self._members = members
        self._coverage = Coverage(topics)
        self._rounds = AssignmentRounds()
        self._called: dict[MemberId, None] = {}
        self._subscriptions: dict[MemberId, frozenset[str]] = {}
        self._unheard: set[MemberId] = set()
        self._heard_by_ms = 0
        self._limits = GroupLimits()

    def restore(self, target: Assignment, limits: GroupLimits, *, now_ms: int) -> None:
        """Take over a durable target assignment, and count on all members for one heartbeat interval."""
        self.target = dict(target)
        self.assigned_from = _by_topic(target.values())
        self._limits = limits
        self._unheard = set(self._members)
        self._heard_by_ms = now_ms + limits.heartbeat_interval_ms
        for member in self._members.values():
            self._coverage.count_on(member, member.assigned)

    def heard(
        self,
        member: ShareGroupMember,
        limits: GroupLimits,
        *,
        is_joining: bool,
        has_changed: bool,
        now_ms: int,
    ) -> None:
        """Count on `member`: if it stays, for what it was told and still subscribes to.

        `has_changed` says that its subscription did, or what the group knows of topics.
        """
        self._limits = limits
        self._unheard.discard(member.member_id)
        kept = frozenset[TopicIdPartition]()
        if not is_joining:
            kept = self._topics.subscribed(member, member.assigned)
        if self._coverage.count_on(member, kept) or has_changed:
            self._rounds.note_change(now_ms)

    def await_round(self, member: ShareGroupMember, now_ms: int) -> None:
        """Let the answer of `member` wait for the next round, which is asked for."""
        member.awaited_round = self._rounds.count + 1
        self._rounds.note_change(now_ms)

    def note_change(self, now_ms: int) -> None:
        """Ask for a round."""
        self._rounds.note_change(now_ms)

    def lose(self, member: ShareGroupMember, now_ms: int) -> None:
        """Count on `member` no more until it is heard again."""
        if self._coverage.discount(member):
            self._rounds.note_change(now_ms)

    def remove(self, member: ShareGroupMember, now_ms: int) -> None:
        """Forget a member that is no member any more; call it if its heartbeat waits."""
        if member.is_waiting:
            self._called[member.member_id] = None
        self._coverage.discount(member)
        self._unheard.discard(member.member_id)
        self._rounds.note_change(now_ms)

    def clear(self) -> None:
        """Begin anew: nobody is left."""
        self.target, self.assigned_from, self._subscriptions = {}, {}, {}
        self._rounds = AssignmentRounds(self._rounds.count)

    def next_round_ms(self, *, is_stale: bool) -> int | None:
        """Return when the next round is due. `is_stale` says that the target assignment is behind the group."""
        next_ms = self._rounds.next_ms(self._limits, is_stale=is_stale)
        if not self._unheard:
            return next_ms
        return self._heard_by_ms if next_ms is None else min(next_ms, self._heard_by_ms)

    def begin_round(self, now_ms: int) -> None:
        """Count on nobody any more who was not heard since the group was restored."""
        self._rounds.changed_ms = None
        self._rounds.count += 1
        if now_ms >= self._heard_by_ms:
            for member_id in self._unheard:
                self._coverage.discount(self._members[member_id])
            self._unheard.clear()

    def may_compute(self, now_ms: int) -> bool:
        """Whether the assignment interval is over."""
        return self._rounds.may_compute(self._limits, now_ms)

    def is_outdated(self) -> bool:
        """Whether partitions were initialized, or lost their state, since the target assignment was computed."""
        assignable = self._topics.assignable()
        return assignable is not self.assigned_from and assignable != self.assigned_from

    def compute(self, now_ms: int) -> None:
        """Compute the target assignment.

        A computation with nothing to assign does not count, so that the first initialized partitions are not
        kept waiting.
        """
        assignable = self._topics.assignable()
        ids = cache(self._topics.ids)  # most members of a group subscribe to the same topics
        subscriptions = {
            member.member_id: ids(member.subscribed_topic_names) for member in self._members.values()
        }
        self.target = assign(subscriptions, assignable, self.target)
        self._subscriptions = {
            member.member_id: member.subscribed_topic_names for member in self._members.values()
        }
        self.assigned_from = assignable
        self._rounds.computed_ms = now_ms if assignable else None

    def end_round(self, now_ms: int) -> None:
        """Share what nobody has among those who wait, and call whomever that, or the target assignment, concerns.

        Those that only lose something are called now and then: until then they merely share it.
        """
        members = self._members.values()
        waiting = [member for member in members if member.is_waiting]
        targets = {member.member_id: self._target_of(member) for member in waiting}
        wanted = self._topics.wanted(member for member in members if member.is_present)
        self._coverage.allot({} if self._is_all_told(wanted, targets) else wanted, targets, waiting)
        losers: list[MemberId] = []
        for member in waiting:
            share = self._coverage.share_of(member, targets[member.member_id])
            if member.awaited_round is not None or not share <= member.assigned:
                self._called[member.member_id] = None
            elif share != member.assigned:
                losers.append(member.member_id)
        if self._rounds.take(self._limits, now_ms, has_losers=bool(losers)):
            self._called.update(dict.fromkeys(losers))

    def held_until_ms(
        self,
        member: ShareGroupMember,
        since_ms: int,
        *,
        share: frozenset[TopicIdPartition],
        must_tell: bool,
        is_stale: bool,
    ) -> int | None:
        """Return until when a heartbeat that came at `since_ms` may be held, None when it is to be answered now.

        `share` is what the member would be told now.
        Whoever joins, or subscribes anew, waits for the round that is for it; and on, while it would get nothing
        and the assignment interval is not over. Everybody else waits until there is something to tell.
        """
        longest_ms = since_ms + self._limits.heartbeat_wait_ms
        if not must_tell:
            return longest_ms if share == member.assigned else None
        next_ms = self.next_round_ms(is_stale=is_stale)
        if member.awaited_round is None or next_ms is None:
            return None
        if self._rounds.count < member.awaited_round:
            return next_ms
        return min(next_ms, longest_ms) if is_stale and not share else None

    def share_of(self, member: ShareGroupMember) -> frozenset[TopicIdPartition]:
        """Return what `member` would be told now."""
        return self._coverage.share_of(member, self._target_of(member))

    def tell(self, member: ShareGroupMember, share: frozenset[TopicIdPartition], now_ms: int) -> None:
        """Tell `member` its share. Others may then lose what it gets."""
        self._called.pop(member.member_id, None)
        if self._coverage.tell(member, share):
            self._rounds.note_change(now_ms)

    def take_called(self) -> tuple[MemberId, ...]:
        """Return, once, the members whose held heartbeats are to be answered now."""
        called = tuple(self._called)
        self._called.clear()
        return called

    def _is_all_told(
        self,
        wanted: Mapping[TopicId, frozenset[int]],
        targets: Mapping[MemberId, frozenset[TopicIdPartition]],
    ) -> bool:
        """Tell, at no cost for partitions, whether `targets` are all that the assignor made of just what is `wanted`.

        It gives each partition to somebody.
        """
        return (
            wanted is self.assigned_from
            and 0 < len(targets) == len(self.target)
            and all(self.target.get(member_id) is target for member_id, target in targets.items())
        )

    def _target_of(self, member: ShareGroupMember) -> frozenset[TopicIdPartition]:
        """Return what the target assignment gives to `member` of its own topics.

        That is all of it as long as neither these nor what may be assigned changed since it was computed: then no
        heartbeat goes through what its member was assigned.
        """
        target = self.target.get(member.member_id, frozenset())
        was_subscribed = self._subscriptions.get(member.member_id)
        if (
            was_subscribed is member.subscribed_topic_names
            and self._topics.assignable() is self.assigned_from
        ):
            return target
        return self._topics.subscribed(member, target)


def _by_topic(held: Iterable[frozenset[TopicIdPartition]]) -> Mapping[TopicId, frozenset[int]]:
    numbers: dict[TopicId, set[int]] = {}
    for partition in frozenset[TopicIdPartition]().union(*held):
        numbers.setdefault(partition.topic_id, set()).add(partition.partition)
    return {topic_id: frozenset(of_topic) for topic_id, of_topic in numbers.items()}
