"""`LoadQueue`: which share-partitions are loaded next, when very many are to be; `LoadUnderWay`: one that is loaded.

What it brings is true as long as the cluster has the topic and this process the group, and not when it has them again:
it hangs on a `Stay` of each.

A session may be opened over thousands of them in some kilobytes, and left at once, while the state log takes seconds
to answer. What waits here is a key; what is under way is a task.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from kproxy.errors import ShareStateStillLoading
from kproxy.handlers.live.group_index import GroupIndex
from kproxy.handlers.live.read_sizes import ReadSize
from kproxy.share.identifiers import GroupId, LeaderEpoch, SharePartitionKey, StateEpoch, TopicId
from kproxy.share.share_partition import SharePartition

MOST_LOADS: Final = 1_000
"""How many are under way at the same time. They wait for brokers, so a few that hang must not hold up the rest."""

OWN_PLACES: Final = 16
"""How many of one group are under way however many others are: a thousand of one group may hang."""


K = TypeVar("K", TopicId, GroupId)


class Stay:
    """A topic's time in the cluster, or a group's in this process, which one look ends for whatever is held of it."""

    __slots__ = ("__weakref__", "is_over")

    def __init__(self) -> None:
        self.is_over = False


class BothStays(NamedTuple):
    """Those of a share-partition's topic and group."""

    of_topic: Stay
    of_group: Stay

    @property
    def is_over(self) -> bool:
        """Whether one of them is: what is held is true no longer."""
        return self.of_topic.is_over or self.of_group.is_over


class Stays:
    """The stays of topics and groups of which anything is held; they are forgotten with the last of that."""

    __slots__ = ("_of_groups", "_of_topics")

    def __init__(self) -> None:
        self._of_topics: WeakValueDictionary[TopicId, Stay] = WeakValueDictionary()
        self._of_groups: WeakValueDictionary[GroupId, Stay] = WeakValueDictionary()

    def of(self, key: SharePartitionKey) -> BothStays:
        """Return the stays that are not over: others than before they were ended the last time."""
        return BothStays(_stay_in(self._of_topics, key.topic_id), _stay_in(self._of_groups, key.group_id))

    def end(self, topic_ids: Iterable[TopicId], group_ids: Iterable[GroupId]) -> None:
        """Let the stays of these be over, at no cost for how much is held of them."""
        for topic_id in topic_ids:
            _end_in(self._of_topics, topic_id)
        for group_id in group_ids:
            _end_in(self._of_groups, group_id)


def _stay_in(stays: WeakValueDictionary[K, Stay], whose: K) -> Stay:
    stay = stays.get(whose)
    if stay is None:
        stay = stays[whose] = Stay()
    return stay


def _end_in(stays: WeakValueDictionary[K, Stay], whose: K) -> None:
    if (stay := stays.pop(whose, None)) is not None:
        stay.is_over = True


class LoadUnderWay:
    """One load of a share-partition: it goes on although nobody waits for it, and its end is signalled."""

    __slots__ = ("_was_changed", "failure", "is_over", "stays")

    def __init__(self, stays: BothStays) -> None:
        self.stays = stays
        self.is_over = self._was_changed = False
        self.failure: Exception | None = None
        """Why the share-partition is not live at the end; None when it was."""

    @property
    def is_outdated(self) -> bool:
        """Whether the state was changed since it began: what it brings is not the truth any more."""
        return self._was_changed or self.stays.is_over

    def outdate(self) -> None:
        """Note that the state was changed."""
        self._was_changed = True

    def require_up_to_date(self, key: SharePartitionKey) -> None:
        """Raise ShareStateStillLoading when the state was changed meanwhile."""
        if self.is_outdated:
            raise ShareStateStillLoading(f"the state of {key} was changed while it was loaded")

    def end(self, failure: Exception | None = None) -> None:
        """Note the end, and why nothing came of it."""
        self.is_over, self.failure = True, failure


class StartChoice(NamedTuple):
    """A start offset, and the epochs under which it was chosen."""

    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    start_offset: int


@dataclass(slots=True)
class LiveEntry:
    """What a load brought, and what became of it: a live share-partition with the epochs of its state."""

    share_partition: SharePartition
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    stays: BothStays
    read_size: ReadSize = field(default_factory=ReadSize)
    choice: StartChoice | None = None
    """Its start offset, if that was chosen by this load, and nothing was written since."""
    unsettled_writes: int = 0
    ahead_until: int = 0
    """Below this offset, exclusive, something was refused and not undone: a write that begins here, or above, tells of
    it. 0 when there is nothing."""
    is_unwanted: bool = False


@dataclass(frozen=True, slots=True)
class LiveWrite:
    """A write under way: the live share-partition that it was made from, the epochs of that one, its number of runs."""

    share_partition: SharePartition
    state_epoch: StateEpoch
    leader_epoch: LeaderEpoch
    run_count: int

    @property
    def key(self) -> SharePartitionKey:
        """What is written."""
        return self.share_partition.key


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
        # A dictionary finds its first key ever more slowly when the first one is taken out again and again.
        self._waiting: OrderedDict[GroupId, OrderedDict[SharePartitionKey, None]] = OrderedDict()

    @property
    def group_ids(self) -> set[GroupId]:
        """The groups of what waits or is under way."""
        return {*self._waiting, *self._under_way.group_ids}

    def of(self, group_id: GroupId) -> Sequence[SharePartitionKey]:
        """Return what waits or is under way of a group."""
        return *self._waiting.get(group_id, ()), *self._under_way.of(group_id)

    def count_of(self, group_id: GroupId) -> int:
        """Return how many that is."""
        return len(self._waiting.get(group_id, ())) + self._under_way.count_of(group_id)

    def put(self, key: SharePartitionKey) -> None:
        """Begin to load `key` in its turn: at once if there is room. It was not put in before, or its load is over."""
        self._waiting.setdefault(key.group_id, OrderedDict())[key] = None
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
        key, _ = keys.popitem(last=False)
        if keys:
            self._waiting[group_id] = keys  # behind the other groups
        self._under_way_count += 1
        self._under_way.add(key)
        self._begin(key)
