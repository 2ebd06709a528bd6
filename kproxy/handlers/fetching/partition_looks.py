"""Which share-partitions a fetch looks at, and what it waits for of those that it does not.

A session may have thousands of them, and its fetch is woken for one.
"""

from collections.abc import Collection, Iterable, Mapping

from kproxy.handlers.interest import Interest
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition


class PartitionLooks:
    """The share-partitions of one fetch, without those that it refused, in turn.

    A *quiet* one was looked at, and there is nothing to do about it until something is heard of it.
    """

    __slots__ = ("_due", "_own_key", "_partitions", "_places", "interest")

    def __init__(
        self, partitions: Mapping[SharePartitionKey, TopicIdPartition], own_key: SharePartitionKey
    ) -> None:
        """Begin with a look at all of `partitions`, in this order. `own_key` is that of the fetch."""
        self.interest = Interest((own_key, *partitions))
        """What `Availability.wait` is told: behind the fetch's own key the offset that is missed of each, or None."""
        self._own_key = own_key
        self._partitions = dict(partitions)
        self._due = set(partitions)
        self._places: dict[SharePartitionKey, int] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._partitions)

    def begin(self, heard: Collection[SharePartitionKey]) -> list[tuple[TopicIdPartition, SharePartitionKey]]:
        """Return, in turn, what to look at now: what something was `heard` of, and all that is not quiet."""
        if heard:
            self.hear(heard)
        if len(self._due) == len(self._partitions):
            keys: Collection[SharePartitionKey] = self._partitions
        else:
            self._places = self._places or {key: place for place, key in enumerate(self._partitions)}
            keys = sorted(self._due, key=self._places.__getitem__)
        self.interest.look_at(keys)
        self.interest.news.discard(self._own_key)
        return [(self._partitions[key], key) for key in keys]

    def hear(self, keys: Iterable[SharePartitionKey]) -> None:
        """Let the next look be at these, too."""
        self._due.update(key for key in keys if key in self._partitions)

    def leave_quiet(self, key: SharePartitionKey) -> None:
        """Look no more at `key`, until something is heard of it."""
        self._due.discard(key)

    def refuse(self, key: SharePartitionKey) -> None:
        """Have nothing to do with `key` any more."""
        del self._partitions[key], self.interest[key]
        self._due.discard(key)
