"""`GroupIndex`: share-partitions by their group, found without a look at those of others."""

from collections.abc import Collection, Sequence

from kproxy.share.identifiers import GroupId, SharePartitionKey


class GroupIndex:
    """Keys by their group, those of one group in the order in which they were added."""

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[GroupId, dict[SharePartitionKey, None]] = {}

    def add(self, key: SharePartitionKey) -> None:
        """Keep `key`."""
        self._keys.setdefault(key.group_id, {})[key] = None

    def remove(self, key: SharePartitionKey) -> None:
        """Forget `key`, which was added."""
        of_group = self._keys[key.group_id]
        del of_group[key]
        if not of_group:
            del self._keys[key.group_id]

    @property
    def group_ids(self) -> Collection[GroupId]:
        """The groups with a key: a view that follows what happens."""
        return self._keys.keys()

    def count_of(self, group_id: GroupId) -> int:
        """Return how many keys a group has."""
        return len(self._keys.get(group_id, ()))

    def of(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Return the keys of a group: a copy, so that they may change meanwhile."""
        return tuple(self._keys.get(group_id, ()))
