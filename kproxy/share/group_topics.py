"""What one share group knows of its topics: who subscribes to which, which exist, which partitions may be assigned.

A heartbeat costs what is new, not what the group subscribes to: subscriptions are counted, the cluster is asked about
what was not heard since something changed, and only topics with partitions to initialize are looked through. Members
that name the same topics have one subscription together, whose names are gone through once.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Final
from weakref import WeakValueDictionary

from kproxy.errors import InvalidRequest, PolicyViolation
from kproxy.share.heartbeat import (
    MAX_SUBSCRIBED_TOPICS,
    AssignedTopic,
    TopicInitialization,
    TopicPartitions,
)
from kproxy.share.identifiers import GroupEpoch, GroupId, StateEpoch, TopicId, TopicIdPartition
from kproxy.share.limits import GroupLimits
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata
from kproxy.wording import counted

MOST_SUBSCRIBED_NAMES: Final = 200_000
"""In the subscriptions of all groups, as partitions of share sessions. 10,000 names take some 1.4 MB."""

_NOTHING: Final[frozenset[str]] = frozenset()

_topic_of: Final[Callable[[TopicIdPartition], TopicId]] = itemgetter(0)

_SUBSCRIPTIONS: Final[WeakValueDictionary[int, frozenset[str]]] = WeakValueDictionary()
"""Those that somebody has, by their hash; of two with the same hash that differ, the one that came first."""


def subscription(names: Iterable[str]) -> frozenset[str]:
    """Return the set of `names`: the same object for equal ones as long as somebody has it.

    The members of a group, and many groups, mostly name the same topics. In a request each name is a text of its own,
    and 10,000 of them in a set take more than a megabyte. Not interned: Python 3.12 keeps such texts for ever.
    """
    wanted = frozenset(names)
    kept = _SUBSCRIPTIONS.setdefault(hash(wanted), wanted)
    return kept if kept == wanted else wanted


class SubscribedNames:
    """How many names the subscriptions of all groups of the process have together, and how many these may be.

    Counted is each name once for each different subscription of each group: what they cost in time and memory.
    """

    __slots__ = ("count", "most")

    def __init__(self, most: int = MOST_SUBSCRIBED_NAMES) -> None:
        self.count = 0
        self.most = most

    def require_room(self, added: int) -> None:
        """Raise PolicyViolation if so many more are too many. Those that are there stay."""
        if added > 0 and self.count + added > self.most:
            raise PolicyViolation(
                f"the members of all share groups here would name {counted(self.count + added, 'topic')} together; "
                f"kproxy.share.groups.max.subscribed.topics={self.most}"
            )


class GroupTopics:
    """The subscribed topics by name, and the stages of their share-partitions."""

    __slots__ = (
        "_all_names",
        "_assignable",
        "_assignable_revision",
        "_ids",
        "_member_counts",
        "_names",
        "_subscription_counts",
        "_unasked",
        "_uninitialized",
        "known",
        "name_count",
        "state_partitions",
    )

    def __init__(
        self, state_partitions: StatePartitionMetadata, names: SubscribedNames | None = None
    ) -> None:
        self._all_names = names if names is not None else SubscribedNames()
        self._assignable: Mapping[TopicId, frozenset[int]] | None = None
        self._assignable_revision = 0
        self.known: dict[str, TopicPartitions] = {}
        """Those of the subscribed topics that exist."""
        self.state_partitions = state_partitions
        self._ids: dict[TopicId, str] = {}
        self.name_count = 0
        """Names of all different subscriptions together."""
        self._member_counts: Counter[frozenset[str]] = Counter()
        self._subscription_counts: Counter[str] = Counter()
        self._names: frozenset[str] | None = frozenset()
        self._unasked: dict[str, None] | None = {}  # None: all of them
        self._uninitialized: dict[str, None] = {}

    @property
    def subscribed_names(self) -> frozenset[str]:
        """Every topic that some member subscribed to; the same object as long as these are the same."""
        if self._names is None:
            self._names = frozenset(self._subscription_counts)
        return self._names

    def restore(
        self, subscriptions: Iterable[frozenset[str]], assigned_from: Iterable[TopicId] | None
    ) -> None:
        """Take for known what the group saw of its topics before it was restored.

        Under a current assignment a topic that is initialized and not in `assigned_from` was gone from the cluster
        already; None says that the assignment was not current.
        """
        self._unasked = None
        for names in subscriptions:
            self.subscribe(_NOTHING, names)
        gone = set[TopicId]()
        if assigned_from is not None:
            gone = {*self.state_partitions.initialized_topics}.difference(assigned_from)
        last_known = self.state_partitions.last_known_topics(apart_from=gone)
        self.known = {name: topic for name, topic in last_known.items() if name in self._subscription_counts}
        self._ids = {topic.topic_id: name for name, topic in self.known.items()}
        self._uninitialized, self._assignable = dict.fromkeys(self.known), None

    def require_room(self, before: frozenset[str], after: frozenset[str]) -> None:
        """Raise if a member may not subscribe to `after` where it had `before`, for all would have too many then.

        A group that has too many already, by an older bound, goes on with those that it has.

        Raises:
            InvalidRequest: the members of the group would have more than MAX_SUBSCRIBED_TOPICS together.
            PolicyViolation: the subscriptions of all groups would have more names than they may.
        """
        if before == after:
            return
        counts = self._subscription_counts
        begun, ended = self._difference(before, after)
        added = sum(name not in counts for name in begun - ended)
        total = len(counts) + added - sum(counts[name] == 1 for name in ended - begun)
        if added and total > MAX_SUBSCRIBED_TOPICS:
            raise InvalidRequest(
                f"the members of the group would subscribe to {counted(total, 'topic')} together,"
                f" expected {MAX_SUBSCRIBED_TOPICS} at most"
            )
        self._all_names.require_room(len(begun) - len(ended))

    def subscribe(self, before: frozenset[str], after: frozenset[str]) -> bool:
        """Note that a member subscribes to `after` where it had `before`; tell whether that is another subscription.

        Names are gone through only when `after` is new to the group, or nobody is left with `before`.
        """
        if before is after or before == after:
            return False
        begun, ended = self._difference(before, after)
        self._count_member(after, 1)
        self._count_member(before, -1)
        self._count_names(len(begun) - len(ended))
        self._begin(begun - ended)
        for name in ended - begun:
            self._subscription_counts[name] -= 1
            if not self._subscription_counts[name]:
                self._forget(name)
        if self._names is None and len(self._subscription_counts) == len(after):
            self._names = after  # all that there are: held once
        return True

    def leave(self) -> None:
        """Count no more among the names of all groups: the group is none of the process any more."""
        self._all_names.count -= self.name_count
        self._all_names = SubscribedNames()

    def topics_moved(self) -> None:
        """Ask the cluster for all topics again: something is new about some topics. Costs the same for any number."""
        self._unasked = None

    def unasked_names(self, most: int) -> Iterator[str]:
        """Return subscribed topics, at most so many, of which the cluster was not asked since something changed."""
        unasked = self._subscription_counts if self._unasked is None else self._unasked
        return islice(unasked, max(0, most))

    def learn(self, topics: Mapping[str, TopicPartitions | None]) -> bool:
        """Take over what the cluster says of `topics` now; tell whether any of it is new.

        A name that is not in `topics` was not asked for (another member joined meanwhile): it stays as known.
        """
        has_changed = False
        if self._unasked is None and topics:
            self._unasked = dict.fromkeys(name for name in self._subscription_counts if name not in topics)
        for name, topic in topics.items():
            if name not in self._subscription_counts:
                continue
            self._note_asked(name)
            if self.known.get(name) == topic:
                continue
            has_changed = True
            self._forget_topic(name)
            if topic is not None:
                self.known[name] = topic
                self._assignable = None
                self._ids[topic.topic_id] = name
                self._uninitialized[name] = None
        if self._unasked is not None:
            self._unasked = self._unasked or {}  # one that was large takes its memory when it is empty, too
        return has_changed

    def begin_initializations(
        self, group_id: GroupId, group_epoch: GroupEpoch, limits: GroupLimits, now_ms: int
    ) -> Iterator[TopicInitialization]:
        """Mark as initializing, and yield, what is neither initialized nor recently begun; it is of that epoch."""
        epoch = StateEpoch(group_epoch)
        for name in tuple(self._uninitialized):
            topic = self.known[name]
            if self.state_partitions.is_initialized(topic):
                del self._uninitialized[name]
                continue
            begun = self.state_partitions.begin(
                name, topic, retry_interval_ms=limits.initialize_retry_interval_ms, now_ms=now_ms
            )
            for new in begun:
                yield TopicInitialization(group_id, topic.topic_id, new.numbers, epoch, new.start_offset)

    def begin_deletion(self, topic_ids: Collection[TopicId]) -> bool:
        """Move all that may have state of these topics to deleting; tell whether any of it is there by now."""
        for name in (self._ids[topic_id] for topic_id in topic_ids if topic_id in self._ids):
            self._uninitialized[name] = None
        return self.state_partitions.begin_deletion(topic_ids)

    def ids(self, names: Collection[str]) -> frozenset[TopicId]:
        """Return the ids of those of `names` that exist."""
        if len(self.known) < len(names):
            return frozenset(topic.topic_id for name, topic in self.known.items() if name in names)
        return frozenset(self.known[name].topic_id for name in names if name in self.known)

    def subscribed(
        self, member: ShareGroupMember, partitions: Collection[TopicIdPartition]
    ) -> frozenset[TopicIdPartition]:
        """Return those of `partitions` that are of topics which exist and to which `member` subscribes."""
        names = member.subscribed_topic_names
        others = {
            topic_id for topic_id in set(map(_topic_of, partitions)) if self._ids.get(topic_id) not in names
        }
        if not others:  # almost always, and a hundred thousand partitions take their time
            return frozenset(partitions)
        return frozenset(each for each in partitions if each.topic_id not in others)

    def assignable(self) -> Mapping[TopicId, frozenset[int]]:
        """Return the partitions that may be assigned: their durable state exists. The same object while they do."""
        if self._assignable is None or self._assignable_revision != self.state_partitions.revision:
            self._assignable_revision = self.state_partitions.revision
            self._assignable = {
                topic.topic_id: initialized
                for topic in self.known.values()
                if (initialized := self.state_partitions.initialized_of(topic.topic_id))
            }
        return self._assignable

    def wanted(self, members: Iterable[ShareGroupMember]) -> Mapping[TopicId, frozenset[int]]:
        """Return the assignable partitions that one of `members` subscribes to."""
        subscriptions = {member.subscribed_topic_names for member in members}
        if subscriptions >= self._member_counts.keys():
            return self.assignable()  # nobody else is left who subscribes to anything
        names = _NOTHING.union(*subscriptions)
        return {
            topic_id: numbers
            for topic_id, numbers in self.assignable().items()
            if self._ids.get(topic_id) in names
        }

    def subscribed_among(self, member: ShareGroupMember, topic_ids: Collection[TopicId]) -> Iterable[TopicId]:
        """Return those of different `topic_ids` that exist and to which `member` subscribes.

        Gone through are the names of the member or the topics, whatever is less.
        """
        names = member.subscribed_topic_names
        if len(names) < len(topic_ids):
            return [
                topic.topic_id
                for name in names
                if (topic := self.known.get(name)) is not None and topic.topic_id in topic_ids
            ]
        return [topic_id for topic_id in topic_ids if self._ids.get(topic_id) in names]

    def permitted(
        self, member: ShareGroupMember, partitions: Collection[TopicIdPartition]
    ) -> frozenset[TopicIdPartition]:
        """Return those of `partitions` that `member` subscribes to and that may be assigned."""
        subscribed = self.subscribed(member, partitions)
        initialized_of = self.state_partitions.initialized_of
        numbers = {topic_id: initialized_of(topic_id) for topic_id in set(map(_topic_of, subscribed))}
        return subscribed.difference(
            [each for each in subscribed if each.partition not in numbers[each.topic_id]]
        )

    def named(self, partitions: Iterable[TopicIdPartition]) -> tuple[AssignedTopic, ...]:
        """Return `partitions` by the names of their topics; without those of topics that are not known."""
        numbers_of: defaultdict[TopicId, list[int]] = defaultdict(list)
        for topic_id, number in partitions:
            numbers_of[topic_id].append(number)
        ids = self._ids
        ids_by_name = {ids[topic_id]: topic_id for topic_id in numbers_of if topic_id in ids}
        in_order = [(ids_by_name[name], name) for name in sorted(ids_by_name)]
        return tuple([AssignedTopic(each, name, tuple(sorted(numbers_of[each]))) for each, name in in_order])

    def names_of(self, assigned: Iterable[Collection[TopicIdPartition]]) -> Collection[str]:
        """Return the names of all topics of which something is `assigned`, of those that are known."""
        topic_ids = set[TopicId]().union(*(map(_topic_of, partitions) for partitions in assigned))
        return [self._ids[topic_id] for topic_id in topic_ids if topic_id in self._ids]

    def _difference(
        self, before: frozenset[str], after: frozenset[str]
    ) -> tuple[frozenset[str], frozenset[str]]:
        """Return what no member had before one has `after`, and what no member has then who had `before`."""
        begun = after if not self._member_counts[after] else _NOTHING
        return begun, before if self._member_counts[before] == 1 else _NOTHING

    def _begin(self, names: frozenset[str]) -> None:
        """Count `names` of another subscription."""
        counts = self._subscription_counts
        if self._unasked is not None:
            self._unasked.update(dict.fromkeys(names.difference(counts)))
        count_before = len(counts)
        counts.update(names)
        if len(counts) > count_before:
            self._names = None

    def _count_member(self, names: frozenset[str], change: int) -> None:
        if not names:
            return  # also of a member that does not exist yet, or any more
        self._member_counts[names] += change
        if not self._member_counts[names]:
            del self._member_counts[names]

    def _count_names(self, change: int) -> None:
        self.name_count += change
        self._all_names.count += change

    def _note_asked(self, name: str) -> None:
        if self._unasked is not None:
            self._unasked.pop(name, None)

    def _forget(self, name: str) -> None:
        """Forget a topic to which nobody subscribes any more."""
        self._names = None
        del self._subscription_counts[name]
        self._note_asked(name)
        self._forget_topic(name)

    def _forget_topic(self, name: str) -> None:
        """Forget which topic has this name, if one has."""
        topic = self.known.pop(name, None)
        if topic is not None:
            self._assignable = None
            self._ids.pop(topic.topic_id, None)
            self._uninitialized.pop(name, None)
