"""Which topics share groups are about: what changes in the cluster is looked for among them."""

from collections import Counter

from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup


class WatchedTopics:
    """The names of all topics that some member subscribed to, or of which some group has durable state.

    They are counted by name: what a group costs, in time and memory, is what is new about it.
    """

    __slots__ = ("_coordinator", "_group_counts", "_names", "_of_groups")

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator
        self._of_groups: dict[GroupId, tuple[ShareGroup, int, frozenset[str]]] = {}
        self._group_counts: Counter[str] = Counter()
        self._names: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Return them: the same object as the last time when they are the same. Costs little while no group changes."""
        before, self._of_groups = self._of_groups, {}
        for group_id in self._coordinator.group_ids:
            group = self._coordinator.find(group_id)
            assert group is not None, f"{group_id} is among the ids"
            seen = before.pop(group_id, None)
            if seen is None or seen[0] is not group or seen[1] != group.revision:
                names_before = frozenset[str]() if seen is None else seen[2]
                seen = (group, group.revision, _names_of(group))
                self._count(names_before, seen[2])
            self._of_groups[group_id] = seen
        for _, _, names_before in before.values():
            self._count(names_before, frozenset())
        if self._group_counts.keys() != self._names:
            self._names = frozenset(self._group_counts)
        return self._names

    def _count(self, before: frozenset[str], after: frozenset[str]) -> None:
        if before is after:
            return
        counts = self._group_counts
        counts.update(after - before)
        for name in before - after:
            counts[name] -= 1
            if not counts[name]:
                del counts[name]


def _names_of(group: ShareGroup) -> frozenset[str]:
    """Return the names of one group: its own set wherever there is no other."""
    subscribed, with_state = group.topics.subscribed_names, group.state_topic_names.values()
    return subscribed if subscribed.issuperset(with_state) else subscribed.union(with_state)
