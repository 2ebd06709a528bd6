"""`LoadQueue`: which share-partitions are loaded next, when very many are to be; `LoadUnderWay`: one that is loaded.

What it brings is true for one `TopicStay`: as long as the cluster has the topic, and not when it has it again.

A session may be opened over thousands of them in some kilobytes, and left at once, while the state log takes seconds
to answer. What waits here is a key; what is under way is a task.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakValueDictionary

from kproxy.errors import ShareStateStillLoading
from kproxy.handlers.live.group_index import GroupIndex
from kproxy.handlers.live.read_sizes import ReadSize
from kproxy.handlers.live.unused_choices import StartChoice
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.share_partition import SharePartition

MOST_LOADS: Final = 1_000
"""How many are under way at the same time. They wait for brokers, so a few that hang must not hold up the rest."""

OWN_PLACES: Final = 16
"""How many of one group are under way however many others are: a thousand of one group may hang."""


class TopicStay:
    """A topic's time in the cluster: one look at it tells of whatever is held of the topic whether it still holds."""

    __slots__ = ("__weakref__", "is_over")

    def __init__(self) -> None:
        self.is_over = False


class TopicStays:
    """The stays of topics of which anything is held; they are forgotten with the last of that."""

    __slots__ = ("_stays",)

    def __init__(self) -> None:
        self._stays: WeakValueDictionary[TopicId, TopicStay] = WeakValueDictionary()

    def of(self, topic_id: TopicId) -> TopicStay:
        """Return the stay that is not over: another one than before the last `end`."""
        stay = self._stays.get(topic_id)
        if stay is None:
            stay = self._stays[topic_id] = TopicStay()
        return stay

    def end(self, topic_ids: Collection[TopicId]) -> None:
        """Let the stays of topics be over, at no cost for how much is held of them."""
        for topic_id in topic_ids:
            if (stay := self._stays.pop(topic_id, None)) is not None:
                stay.is_over = True


class LoadUnderWay:
    """One load of a share-partition: it goes on although nobody waits for it, and its end is signalled."""

    __slots__ = ("failure", "is_outdated", "is_over", "stay")

    def __init__(self, stay: TopicStay) -> None:
        self.stay = stay
        self.is_over = False
        self.is_outdated = False
        """The state was changed since it began: what it brings is not the truth any more."""
        self.failure: Exception | None = None
        """Why the share-partition is not live at the end; None when it was."""

    def require_up_to_date(self, key: SharePartitionKey) -> None:
        """Raise ShareStateStillLoading when the state was changed meanwhile."""
        if self.is_outdated or self.stay.is_over:
            raise ShareStateStillLoading(f"the state of {key} was changed while it was loaded")

    def end(self, failure: Exception | None = None) -> None:
        """Note the end, and why nothing came of it."""
        self.is_over, self.failure = True, failure


@dataclass(slots=True)
class LiveEntry:
    """What a load brought, and what became of it: a live share-partition with the epochs of its state."""

    share_partition: SharePartition
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    stay: TopicStay
    read_size: ReadSize = field(default_factory=ReadSize)
    choice: StartChoice | None = None
    """Its start offset, if that was chosen by this load, and nothing was written since."""
    unsettled_writes: int = 0
    is_ahead: bool = False  # of the log: what was refused, and not undone, is told by the next write
    is_unwanted: bool = False


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
