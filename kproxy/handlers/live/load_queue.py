"""`LoadQueue`: which share-partitions are loaded next, when very many are to be; `LoadUnderWay`: one that is loaded.

A session may be opened over thousands of them in some kilobytes, and left at once, while the state log takes seconds
to answer. What waits here is a key; what is under way is a task.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from kproxy.errors import ShareStateStillLoading
from kproxy.handlers.live.group_index import GroupIndex
from kproxy.share.identifiers import GroupId, SharePartitionKey

MOST_LOADS: Final = 1_000
"""How many are under way at the same time. They wait for brokers, so a few that hang must not hold up the rest."""

OWN_PLACES: Final = 16
"""How many of one group are under way however many others are: a thousand of one group may hang."""


class LoadUnderWay:
    """One load of a share-partition: it goes on although nobody waits for it, and its end is signalled."""

    __slots__ = ("failure", "is_outdated", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self.is_outdated = False
        """The state was changed since it began: what it brings is not the truth any more."""
        self.failure: Exception | None = None
        """Why the share-partition is not live at the end; None when it was."""

    def require_up_to_date(self, key: SharePartitionKey) -> None:
        """Raise ShareStateStillLoading when the state was changed meanwhile."""
        if self.is_outdated:
            raise ShareStateStillLoading(f"the state of {key} was changed while it was loaded")

    def end(self, failure: Exception | None = None) -> None:
        """Note the end, and why nothing came of it."""
        self.is_over, self.failure = True, failure


class LoadQueue:
    """Calls `begin` with each key that was put in, one group's after another's, `MOST_LOADS` at the same time.

    Each group has `OWN_PLACES` that no other one takes, beyond these if need be. So whatever waits is of a group that
    has its own places in use.
    """

    __slots__ = ("_begin", "_under_way", "_under_way_count", "_waiting")

    def __init__(self, begin: Callable[[SharePartitionKey], None]) -> None:
        self._begin = begin
        self._under_way_count = 0
        self._under_way = GroupIndex()
        self._waiting: dict[GroupId, dict[SharePartitionKey, None]] = {}

    @property
    def group_ids(self) -> set[GroupId]:
        """The groups of what waits or is under way."""
        return {*self._waiting, *self._under_way.group_ids}

    def of(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Return what waits or is under way of a group."""
        return *self._waiting.get(group_id, ()), *self._under_way.of(group_id)

    def put(self, key: SharePartitionKey) -> None:
        """Begin to load `key` in its turn: at once if there is room. It was not put in before, or its load is over."""
        self._waiting.setdefault(key.group_id, {})[key] = None
        if self._under_way_count < MOST_LOADS or self._has_own_place(key.group_id):
            self._begin_next_of(key.group_id)

    def end(self, key: SharePartitionKey) -> None:
        """Note that the load of `key`, which was begun, is over."""
        group_id = key.group_id
        self._under_way_count -= 1
        self._under_way.remove(key)
        if group_id in self._waiting and self._has_own_place(group_id):
            self._begin_next_of(group_id)
        elif self._waiting and self._under_way_count < MOST_LOADS:
            self._begin_next_of(next(iter(self._waiting)))

    def drop(self, group_ids: Collection[GroupId]) -> Sequence[SharePartitionKey]:
        """Forget, and return, what waits for these groups: nobody fetches for them any more."""
        return [key for group_id in group_ids for key in self._waiting.pop(group_id, ())]

    def _has_own_place(self, group_id: GroupId) -> bool:
        return self._under_way.count_of(group_id) < OWN_PLACES

    def _begin_next_of(self, group_id: GroupId) -> None:
        keys = self._waiting.pop(group_id)
        key = next(iter(keys))
        del keys[key]
        if keys:
            self._waiting[group_id] = keys  # behind the other groups
        self._under_way_count += 1
        self._under_way.add(key)
        self._begin(key)
