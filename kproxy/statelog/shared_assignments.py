"""`SharedAssignments`: one object for equal assignments of a group log, and for equal partitions in different ones.

What a member is to have, and what it was told, is mostly the same, and so is what members with one subscription have
where it is more members than partitions. In a log each stands for itself: 200 members with 10,000 partitions are four
million objects, and to put them together takes as long as to compare each with each.
"""

from weakref import WeakValueDictionary

from kproxy.share.identifiers import TopicIdPartition


class SharedAssignments:
    """The assignments that were met, as long as somebody has them, and the partitions in them until `forget`."""

    __slots__ = ("_met", "_partitions")

    def __init__(self) -> None:
        # By hash; of two with the same hash that differ, the one that came first.
        self._met: WeakValueDictionary[int, frozenset[TopicIdPartition]] = WeakValueDictionary()
        self._partitions: dict[TopicIdPartition, TopicIdPartition] = {}

    def __len__(self) -> int:
        """How many partitions are kept."""
        return len(self._partitions)

    def shared(self, assigned: frozenset[TopicIdPartition]) -> frozenset[TopicIdPartition]:
        """Return an equal set: one that was met, or one of partitions that were met, as far as they were."""
        met = self._met.get(hash(assigned))
        if met is not None and met == assigned:
            return met
        ours = frozenset(map(self._partitions.setdefault, assigned, assigned))
        self._met.setdefault(hash(ours), ours)
        return ours

    def forget(self) -> None:
        """Keep no partitions any more: the log was read."""
        self._partitions.clear()
