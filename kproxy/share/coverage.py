"""No partition without a member: who serves what the target assignment gives to somebody who does not know it yet.

The target assignment says who is to have a partition. A member has what it was *told* with its last answer, and hears
of more only when a heartbeat of it is answered. So, beside its target,

- a member keeps what it was told until somebody else who can be counted on was told it, too;
- what nobody who can be counted on was told, and nobody of whom a heartbeat waits is about to be told, is allotted
  to those who wait; if nobody does, it is open, and whoever is heard next takes it.

A member can be counted on from its heartbeat until it leaves or its connection closes. Several members may be told one
partition, as in any share group with more members than partitions, so nothing is delivered twice for it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain, cycle
from typing import Final, Protocol

from kproxy.share.assignor import subscribers_of
from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition, partitions_of
from kproxy.share.rounds.portions import POOL_PLACES, Portions, whole
from kproxy.share.share_group_member import ShareGroupMember

Partitions = frozenset[TopicIdPartition]

_NOTHING: Final[Partitions] = frozenset()


class TopicsOfMembers(Protocol):
    """Which topics a member subscribes to. One call is for many of them: subscriptions are long."""

    def permitted(self, member: ShareGroupMember, partitions: Collection[TopicIdPartition]) -> Partitions:
        """Return those of `partitions` that `member` subscribes to, and that may be assigned."""
        ...

    def subscribed_among(self, member: ShareGroupMember, topic_ids: Collection[TopicId]) -> Iterable[TopicId]:
        """Return those of `topic_ids` to which `member` subscribes."""
        ...


class Coverage:
    """How many members of one group that can be counted on were told each partition of its `topics`."""

    __slots__ = ("_allotted", "_free", "_open", "_told", "_topics", "_uncounted")

    def __init__(self, topics: TopicsOfMembers) -> None:
        self._topics = topics
        self._told: dict[TopicIdPartition, int] = {}
        self._allotted: dict[MemberId, set[TopicIdPartition]] = {}
        self._open = _NOTHING
        self._free: dict[TopicId, set[TopicIdPartition]] = {}  # what is open and nobody was told since
        self._uncounted: dict[MemberId, ShareGroupMember] = {}

    @property
    def is_counting(self) -> bool:
        """Whether there are members left to be counted: somebody may seem to be the only one who was told something."""
        return bool(self._uncounted)

    def restore(self, members: Iterable[ShareGroupMember]) -> None:
        """Count on `members` for all that they were told; to be followed by `counting`."""
        for member in members:
            member.is_present, member.relied_on = True, member.assigned
            self._uncounted[member.member_id] = member

    def counting(self) -> Portions[None]:
        """Count the members that were restored, one after the other, each as it is by then."""
        while self._uncounted:
            member_id = next(iter(self._uncounted))
            member = self._uncounted.pop(member_id)
            partitions, member.relied_on = member.relied_on, _NOTHING
            self._rely(member, partitions)
            yield 1 + 2 * len(partitions)

    def count_on(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        """Count on `member`, which is there, for these `partitions`; tell whether that is anything new."""
        was_present, member.is_present = member.is_present, True
        return self._rely(member, partitions) or not was_present

    def discount(self, member: ShareGroupMember) -> bool:
        """Count on `member` no more, which cannot hear either; tell whether it was counted on before."""
        member.is_waiting = False
        self._allotted.pop(member.member_id, None)
        was_present, member.is_present = member.is_present, False
        self._rely(member, _NOTHING)
        self._uncounted.pop(member.member_id, None)
        return was_present

    def tell(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        """Note what `member` is told now; tell whether that concerns others.

        They may lose what is new to it, or have to take over what it gave up.
        """
        gained, lost = partitions - member.relied_on, member.relied_on - partitions
        member.assigned = partitions
        self._allotted.pop(member.member_id, None)
        known = gained
        if member.is_present and (gained or lost):
            known = self._move(member, partitions, gained, lost)
        told_count = self._told.get
        return any(told_count(each, 0) > 1 for each in known) or any(
            told_count(each, 0) <= 0 for each in lost
        )

    def share_of(self, member: ShareGroupMember, target: Partitions) -> Partitions:
        """Return what `member` is to be told, which has a heartbeat to be answered: its target, and what it covers."""
        allotted = self._allotted.get(member.member_id, set())
        # One set is compared with itself element by element, too.
        is_told = member.assigned is target or member.assigned == target
        if is_told and not allotted and not self._free:
            return target
        kept = {
            partition
            for partition in member.assigned - target
            if self._told.get(partition, 0) <= int(partition in member.relied_on)
        }
        taken = {partition for partition in allotted - target if self._told.get(partition, 0) <= 0}
        if self._free and not self._open <= target:
            free_topics = self._topics.subscribed_among(member, self._free)
            taken.update(*(self._free[topic_id] - target for topic_id in free_topics))
        covered = self._topics.permitted(member, kept | taken) if kept or taken else None
        return target | covered if covered else target

    def allot(
        self,
        wanted: Mapping[TopicId, Collection[int]],
        targets: Mapping[MemberId, Partitions],
        waiting: Sequence[ShareGroupMember],
    ) -> None:
        """Share what nobody has of `wanted` among the members that are `waiting`; what none of them may have is open.

        `wanted` may all be assigned. `targets` are those of the waiting members: what stands there they are told
        anyway.
        """
        whole(self.allotting(wanted, targets, waiting))

    def allotting(
        self,
        wanted: Mapping[TopicId, Collection[int]],
        targets: Mapping[MemberId, Partitions],
        waiting: Sequence[ShareGroupMember],
    ) -> Portions[bool]:
        """Do the same in portions; return whether it has to be done again, for somebody it counts on waits no more.

        Members may be told something, lost or heard meanwhile. All holds from the end on: what somebody was told since
        is not open, and what was to be that somebody's who does not wait any more is. What is lost since asks for the
        next round anyway.
        """
        uncovered = yield from self._uncovered(wanted, targets)
        allotted: dict[MemberId, set[TopicIdPartition]] = {}
        free: dict[TopicId, set[TopicIdPartition]] = {}
        yield from self._share_out(uncovered, targets, waiting, allotted=allotted, free=free)
        gone = [
            member.member_id for member in waiting if not member.is_waiting and member.member_id in allotted
        ]
        for partition in chain.from_iterable([allotted.pop(member_id) for member_id in gone]):
            free.setdefault(partition.topic_id, set()).add(partition)
        told_count = self._told.get
        still_free = (
            (topic_id, {each for each in partitions if told_count(each, 0) <= 0})
            for topic_id, partitions in free.items()
        )
        self._allotted = allotted
        self._free = {topic_id: partitions for topic_id, partitions in still_free if partitions}
        self._open = _NOTHING.union(*self._free.values())
        return bool(gone)

    def _uncovered(
        self, wanted: Mapping[TopicId, Collection[int]], targets: Mapping[MemberId, Partitions]
    ) -> Portions[Mapping[TopicId, Sequence[TopicIdPartition]]]:
        """Find what nobody was told of `wanted`, and nobody is to be told."""
        uncovered: dict[TopicId, Sequence[TopicIdPartition]] = {}
        covered = set[TopicIdPartition]()
        if wanted:
            for target in {id(target): target for target in targets.values()}.values():
                covered |= target
                yield len(target)
        told_count = self._told.get
        for topic_id, numbers in wanted.items():
            of_topic = partitions_of(topic_id, sorted(numbers))
            left = [each for each in of_topic if each not in covered and told_count(each, 0) <= 0]
            if left:
                uncovered[topic_id] = left
            yield POOL_PLACES + len(of_topic)
        return uncovered

    def _share_out(
        self,
        uncovered: Mapping[TopicId, Sequence[TopicIdPartition]],
        targets: Mapping[MemberId, Partitions],
        waiting: Sequence[ShareGroupMember],
        *,
        allotted: dict[MemberId, set[TopicIdPartition]],
        free: dict[TopicId, set[TopicIdPartition]],
    ) -> Portions[None]:
        """Let `uncovered` be `allotted` to those who have least, and `free`, by topic, what none of them may have."""
        loads = {member.member_id: len(targets[member.member_id]) for member in waiting}
        able = yield from self._able(uncovered, waiting)
        turns: dict[int, _LeastLoaded] = {}  # topics with the same members have one sequence of them
        for topic_id, partitions in uncovered.items():
            if topic_id not in able:
                free[topic_id] = set(partitions)
                yield len(partitions)
                continue
            member_ids = able[topic_id]
            if id(member_ids) not in turns:
                turns[id(member_ids)] = _LeastLoaded(member_ids, loads)
                yield len(member_ids)
            turn = turns[id(member_ids)].first(len(partitions))
            for partition, member_id in zip(partitions, cycle(turn), strict=False):
                allotted.setdefault(member_id, set()).add(partition)
                loads[member_id] += 1
            yield len(partitions)

    def _able(
        self, topic_ids: Collection[TopicId], waiting: Iterable[ShareGroupMember]
    ) -> Portions[Mapping[TopicId, Sequence[MemberId]]]:
        """Find who of the waiting members may have the partitions of each topic; none without such a member."""
        topics_of: dict[frozenset[str], frozenset[TopicId]] = {}
        subscriptions: dict[MemberId, frozenset[TopicId]] = {}
        for member in waiting:
            names = member.subscribed_topic_names
            if names not in topics_of:
                topics_of[names] = frozenset(self._topics.subscribed_among(member, topic_ids))
                yield min(len(names), len(topic_ids))
            subscriptions[member.member_id] = topics_of[names]
        return (yield from subscribers_of(subscriptions))

    def _rely(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        before = member.relied_on
        if partitions is before or partitions == before:
            return False
        self._move(member, partitions, partitions - before, before - partitions)
        return True

    def _move(
        self, member: ShareGroupMember, partitions: Partitions, gained: Partitions, lost: Partitions
    ) -> Partitions:
        """Rely on `member` for `partitions`: with `gained`, without `lost`. Return what others may have been told, too.

        A set and a dictionary know the hashes of what is in them, which takes longest of a hundred thousand.
        """
        if member.member_id in self._uncounted:
            member.relied_on = partitions
            return _NOTHING
        told = self._told
        new = gained.difference(told)
        known = gained - new
        told.update(dict.fromkeys(new, 1))
        for partition in known:
            told[partition] += 1
        for partition in lost:
            told[partition] -= 1
        member.relied_on = partitions
        if self._open:
            self._take(gained)
            self._let_go(partition for partition in lost & self._open if told[partition] <= 0)
        return known

    def _take(self, told: Partitions) -> None:
        """Let these, of which some member was told, be free no more."""
        free = self._free
        if self._open <= told:
            self._free = {}
        elif len(told) > len(free):
            self._free = {topic_id: left for topic_id, each in free.items() if (left := each - told)}
        else:
            for partition in told & self._open:
                if of_topic := free.get(partition.topic_id):
                    of_topic.discard(partition)
                    if not of_topic:
                        del free[partition.topic_id]

    def _let_go(self, partitions: Iterable[TopicIdPartition]) -> None:
        for partition in partitions:
            self._free.setdefault(partition.topic_id, set()).add(partition)


class _LeastLoaded:
    """Some members by how much they have, which only becomes more: a heap whose entries may be behind `loads`."""

    __slots__ = ("_heap", "_loads", "_member_ids")

    def __init__(self, member_ids: Sequence[MemberId], loads: Mapping[MemberId, int]) -> None:
        self._member_ids, self._loads = member_ids, loads
        self._heap = [(loads[member_id], place) for place, member_id in enumerate(member_ids)]
        heapify(self._heap)

    def first(self, most: int) -> Sequence[MemberId]:
        """Return those with the least, at most so many; of equal ones those that come first."""
        heap, found = self._heap, list[tuple[int, int]]()
        while heap and len(found) < most:
            noted, place = heap[0]
            load = self._loads[self._member_ids[place]]
            if load == noted:
                found.append(heappop(heap))
            else:
                heapreplace(heap, (load, place))
        for entry in found:
            heappush(heap, entry)
        return [self._member_ids[place] for _, place in found]
