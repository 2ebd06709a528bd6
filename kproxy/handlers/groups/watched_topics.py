"""Which topics share groups are about: what changes in the cluster is looked for among them."""

from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId
from kproxy.share.share_group import ShareGroup


class WatchedTopics:
    """The names of all topics that some member subscribed to, or of which some group has durable state."""

    __slots__ = ("_coordinator", "_names", "_of_groups")

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator
        self._of_groups: dict[GroupId, tuple[ShareGroup, int, frozenset[str]]] = {}
        self._names: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Return them: the same object as the last time when they are the same. Costs little while no group changes."""
        before, self._of_groups = self._of_groups, {}
        has_changed = False
        for group_id in self._coordinator.group_ids:
            group = self._coordinator.find(group_id)
            assert group is not None, f"{group_id} is among the ids"
            seen = before.get(group_id)
            if seen is None or seen[0] is not group or seen[1] != group.revision:
                seen = (group, group.revision, _names_of(group))
                has_changed = True
            self._of_groups[group_id] = seen
        if has_changed or len(before) != len(self._of_groups):
            names = frozenset[str]().union(*(of_group for _, _, of_group in self._of_groups.values()))
            self._names = self._names if names == self._names else names
        return self._names


def _names_of(group: ShareGroup) -> frozenset[str]:
    return group.topics.subscribed_names.union(group.state_topic_names.values())
