"""The target assignment of one share group, and the rounds in which its members come to hear of it.

A round of a large group is held in portions, and others are served in between: members keep the target assignment that
there was, until the new one is there as a whole. It is the one for the group as it was when the round began. What
changed since asks for the next round, as it does within the assignment interval, so a group that goes on changing gets
one assignment after the other all the same.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Final

from kproxy.share.assignment_rounds import AssignmentRounds
from kproxy.share.assignor import Assignment, assigning
from kproxy.share.coverage import Coverage
from kproxy.share.group_topics import GroupTopics
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.rounds.portions import PLACES_AT_ONCE, Portions, WorkUnderWay
from kproxy.share.share_group_member import ShareGroupMember

_LOOK_AGAIN_MS: Final = 1_000
"""After so long a heartbeat looks again whether what it waits for is over, if nobody called it."""


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
        "_under_way",
        "_unheard",
        "_worked_ms",
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
        self._under_way: WorkUnderWay | None = None
        self._worked_ms = 0

    @property
    def is_under_way(self) -> bool:
        """Whether a round, or the count of who was restored, has begun and is not over: it is to be gone on with."""
        return self._under_way is not None

    def restore(self, target: Assignment, limits: GroupLimits, *, now_ms: int) -> None:
        """Take over a durable target assignment, and count on all members for one heartbeat interval."""
        self.target = dict(target)
        self.assigned_from = _by_topic(target.values())
        self._limits = limits
        self._unheard = set(self._members)
        self._heard_by_ms = now_ms + limits.heartbeat_interval_ms
        self._coverage.restore(self._members.values())
        self._under_way = WorkUnderWay(self._coverage.counting())
        self.go_on(now_ms, at_most=PLACES_AT_ONCE)

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
        member.awaited_round = self._rounds.count + 1 + self._rounds.is_under_way
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
        self._under_way = None
        self._rounds = AssignmentRounds(self._rounds.count)

    def next_round_ms(self, *, is_stale: bool) -> int | None:
        """Return when the next round is due. `is_stale` says that the target assignment is behind the group."""
        if self._under_way is not None:
            return self._worked_ms
        next_ms = self._rounds.next_ms(self._limits, is_stale=is_stale)
        if not self._unheard:
            return next_ms
        return self._heard_by_ms if next_ms is None else min(next_ms, self._heard_by_ms)

    def begin_round(self, now_ms: int, *, computes: bool, on_computed: Callable[[], object]) -> None:
        """Begin a round, which `computes` a target assignment, or not; whoever goes on with it ends it.

        1. Members that were not heard since the group was restored are not counted on any more.
        2. The target assignment is computed: then it is there as a whole, and `on_computed` is called.
        3. What nobody was told, and nobody is about to be told, is shared among the members that wait.
        4. Called are those that get something by that and, now and then, those that only lose something.
        """
        self._rounds.changed_ms, self._rounds.is_under_way = None, True
        self._worked_ms = now_ms
        self._under_way = WorkUnderWay(self._round(computes=computes, on_computed=on_computed))

    def give_up_round(self) -> None:
        """Drop what has begun and is not over: the group begins another round, or goes, and the work has hold of it.

        Who waits for the round after this one waits for the next.
        """
        if self._rounds.is_under_way:
            for member in self._members.values():
                if member.awaited_round is not None:
                    member.awaited_round = min(member.awaited_round, self._rounds.count + 1)
        self._under_way, self._rounds.is_under_way = None, False

    def go_on(self, now_ms: int, *, at_most: int) -> int:
        """Do about `at_most` places of what is under way; return how many it was."""
        under_way, self._worked_ms = self._under_way, now_ms
        if under_way is None:
            return 0
        done = under_way.go_on(at_most)
        if under_way.is_over:
            self._under_way = None
        return done

    def is_worked_on(self, now_ms: int) -> bool:
        """Whether somebody went on with what is under way within a second."""
        return now_ms - self._worked_ms < _LOOK_AGAIN_MS

    def may_compute(self, now_ms: int) -> bool:
        """Whether the assignment interval is over."""
        return self._rounds.may_compute(self._limits, now_ms)

    def is_outdated(self) -> bool:
        """Whether partitions were initialized, or lost their state, since the target assignment was computed.

        What is equal is held once, so that it is compared once.
        """
        assignable = self._topics.assignable()
        if assignable is not self.assigned_from and assignable == self.assigned_from:
            self.assigned_from = assignable
        return assignable is not self.assigned_from

    def _round(self, *, computes: bool, on_computed: Callable[[], object]) -> Portions[None]:
        yield from self._coverage.counting()
        while self._unheard and self._worked_ms >= self._heard_by_ms:
            member = self._members[self._unheard.pop()]
            work = 1 + len(member.relied_on)
            self._coverage.discount(member)
            yield work
        if computes:
            yield from self._compute()
            on_computed()
        yield from self._call()

    def _compute(self) -> Portions[None]:
        """Compute the target assignment for the group as it is when this begins.

        A computation with nothing to assign does not count, so that the first initialized partitions are not
        kept waiting.
        """
        assignable = self._topics.assignable()
        names = {member.member_id: member.subscribed_topic_names for member in self._members.values()}
        ids = cache(self._topics.ids)  # most members of a group subscribe to the same topics
        subscriptions: dict[MemberId, frozenset[TopicId]] = {}
        for member_id, subscribed in names.items():
            before = ids.cache_info().misses
            subscriptions[member_id] = ids(subscribed)
            yield 1 + (len(subscribed) if ids.cache_info().misses > before else 0)
        self.target = yield from assigning(subscriptions, assignable, self.target)
        self._subscriptions = names
        self.assigned_from = assignable
        self._rounds.computed_ms = self._worked_ms if assignable else None

    def _call(self) -> Portions[None]:
        """Share what nobody has among those who wait, and call whomever that, or the target assignment, concerns."""
        members = tuple(self._members.values())
        waiting = [member for member in members if member.is_waiting]
        targets: dict[MemberId, frozenset[TopicIdPartition]] = {}
        for member in waiting:
            targets[member.member_id] = target = self._target_of(member)
            yield 1 if target is self.target.get(member.member_id) else 1 + len(target)
        wanted = self._topics.wanted(member for member in members if member.is_present)
        yield self._topics.name_count
        if self._is_all_told(wanted, targets):
            wanted = {}
        has_gone = yield from self._coverage.allotting(wanted, targets, waiting)
        if has_gone:
            self._rounds.note_change(self._worked_ms)
        self._rounds.count += 1
        self._rounds.is_under_way = False
        # Also those who began to wait meanwhile: what is open now nobody else tells them of.
        losers = yield from self._call_gainers([each for each in self._members.values() if each.is_waiting])
        if self._rounds.take(self._limits, self._worked_ms, has_losers=bool(losers)):
            self._called.update(dict.fromkeys(losers))

    def _call_gainers(self, waiting: Iterable[ShareGroupMember]) -> Portions[Iterable[MemberId]]:
        """Call whoever gets something, or waited for this round; return who only loses something."""
        losers: list[MemberId] = []
        for member in waiting:
            if not member.is_waiting:
                continue  # it was answered, lost, or removed meanwhile
            share = self._coverage.share_of(member, self._target_of(member))
            is_awaited = member.awaited_round is not None and member.awaited_round <= self._rounds.count
            has_more = share is not member.assigned and not share <= member.assigned
            if is_awaited or has_more:
                self._called[member.member_id] = None
            elif share != member.assigned:
                losers.append(member.member_id)
            yield 1 if share is member.assigned else 1 + len(share)
        return losers

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

    def put_off(self, member: ShareGroupMember, until_ms: int | None, now_ms: int) -> int | None:
        """Return until when a heartbeat that may be held `until_ms` is, for what is under way has to be over first."""
        is_awaited = member.awaited_round is not None and member.awaited_round > self._rounds.count
        has_to_wait = self._under_way is not None and is_awaited
        return now_ms + _LOOK_AGAIN_MS if has_to_wait or self._coverage.is_counting else until_ms

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
    numbers: defaultdict[TopicId, list[int]] = defaultdict(list)
    different = {id(each): each for each in held}.values()  # many members have one set
    for topic_id, number in frozenset[TopicIdPartition]().union(*different):
        numbers[topic_id].append(number)
    return {topic_id: frozenset(of_topic) for topic_id, of_topic in numbers.items()}
