"""No partition without a member: who serves what the target assignment gives to somebody who does not know it yet.

The target assignment says who is to have a partition. A member has what it was *told* with its last answer, and hears
of more only when a heartbeat of it is answered. So, beside its target,

- a member keeps what it was told until somebody else who can be counted on was told it, too;
- what nobody who can be counted on was told, and nobody of whom a heartbeat waits is about to be told, is allotted
  to those who wait; if nobody does, it is open, and whoever is heard next takes it.

A member can be counted on from its heartbeat until it leaves or its connection closes. Several members may be told one
partition, as in any share group with more members than partitions, so nothing is delivered twice for it.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from kproxy.share.identifiers import MemberId, TopicId, TopicIdPartition
from kproxy.share.share_group_member import ShareGroupMember

Partitions = frozenset[TopicIdPartition]
Permitted = Callable[[ShareGroupMember, Collection[TopicIdPartition]], Partitions]
"""Which of some partitions a member subscribes to, and may be assigned. One call for all: subscriptions are long."""


class Coverage:
    """How many members of one group that can be counted on were told each partition.

    `permitted` says which of some partitions a member subscribes to, and may be assigned.
    """

    __slots__ = ("_allotted", "_open", "_permitted", "_told")

    def __init__(self, permitted: Permitted) -> None:
        self._permitted = permitted
        self._told: Counter[TopicIdPartition] = Counter()
        self._allotted: dict[MemberId, set[TopicIdPartition]] = {}
        self._open: Partitions = frozenset()

    def count_on(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        """Count on `member`, which is there, for these `partitions`; tell whether that is anything new."""
        was_present, member.is_present = member.is_present, True
        return self._rely(member, partitions) or not was_present

    def discount(self, member: ShareGroupMember) -> bool:
        """Count on `member` no more, which cannot hear either; tell whether it was counted on before."""
        member.is_waiting = False
        self._allotted.pop(member.member_id, None)
        was_present, member.is_present = member.is_present, False
        self._rely(member, frozenset())
        return was_present

    def tell(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        """Note what `member` is told now; tell whether that concerns others.

        They may lose what is new to it, or have to take over what it gave up.
        """
        gained, lost = partitions - member.relied_on, member.relied_on - partitions
        member.assigned = partitions
        self._allotted.pop(member.member_id, None)
        if member.is_present:
            self._rely(member, partitions)
        counts = self._told.__getitem__
        return max(map(counts, gained), default=0) > 1 or min(map(counts, lost), default=1) <= 0

    def share_of(self, member: ShareGroupMember, target: Partitions) -> Partitions:
        """Return what `member` is to be told, which has a heartbeat to be answered: its target, and what it covers."""
        allotted = self._allotted.get(member.member_id, set())
        if member.assigned == target and not allotted and not self._open:
            return target
        kept = {
            partition
            for partition in member.assigned - target
            if self._told[partition] <= int(partition in member.relied_on)
        }
        taken = {
            partition
            for partition in (self._open - target) | (allotted - target)
            if self._told[partition] <= 0
        }
        covered = self._permitted(member, kept | taken) if kept or taken else None
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
        covered = frozenset[TopicIdPartition]().union(*targets.values())
        uncovered = [
            partition
            for topic_id, numbers in wanted.items()
            for number in sorted(numbers)
            # A plain tuple is equal, and made in a fraction of the time.
            if (topic_id, number) not in covered
            and self._told[partition := TopicIdPartition(topic_id, number)] <= 0
        ]
        self._allotted = {}
        still_open: set[TopicIdPartition] = set()
        loads = {member.member_id: len(targets[member.member_id]) for member in waiting}
        able = self._able(uncovered, waiting)
        turns: dict[TopicId, deque[MemberId]] = {}
        for partition in uncovered:
            topic_id = partition.topic_id
            if topic_id not in turns:
                turns[topic_id] = deque(sorted(able[topic_id], key=loads.__getitem__))
            if turn := turns[topic_id]:
                self._allotted.setdefault(turn[0], set()).add(partition)
                loads[turn[0]] += 1
                turn.rotate(-1)
            else:
                still_open.add(partition)
        self._open = frozenset(still_open)

    def _able(
        self, partitions: Iterable[TopicIdPartition], waiting: Iterable[ShareGroupMember]
    ) -> Mapping[TopicId, Sequence[MemberId]]:
        """Return who of the waiting members may have the partitions of each topic, of which one speaks for all."""
        of_topics = {partition.topic_id: partition for partition in partitions}
        able: dict[TopicId, list[MemberId]] = {topic_id: [] for topic_id in of_topics}
        for member in waiting:
            for partition in self._permitted(member, of_topics.values()):
                able[partition.topic_id].append(member.member_id)
        return able

    def _rely(self, member: ShareGroupMember, partitions: Partitions) -> bool:
        if partitions == member.relied_on:
            return False
        self._told.update(partitions - member.relied_on)
        self._told.subtract(member.relied_on - partitions)
        member.relied_on = partitions
        return True
