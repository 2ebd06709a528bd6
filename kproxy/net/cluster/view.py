"""`ClusterView`: what Metadata responses said of the brokers, and of the topics that kproxy was asked about.

No I/O: responses and moments come in as arguments.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.interception.broker_addresses import BackingBroker
from kproxy.share.identifiers import TopicId
from kproxy.wire.message_schema import ZERO_UUID
from kproxy.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

NO_LEADER: Final = PartitionLeader(-1, -1)

GONE_TTL_MS: Final = 600_000
"""How long it is remembered that a topic id is gone: it takes more than one broker's word to bring it back."""

MOST_GONE: Final = 10_000

MOST_MISSING: Final = 50_000
"""Names and ids that are remembered as missing; what was forgotten is asked for again."""

MOST_LEFT: Final = 1_000
"""Brokers that the cluster does not name any more and that are remembered: those that it stopped naming last."""

PARTITIONS_AT_ONCE: Final = 5_000
"""Of how many partitions a response is taken in before others have a turn: some 5 ms. One topic is not divided."""

MOST_FORGOTTEN: Final = 2_000
"""Of what was missing too long ago, with each answer, which tells of fewer."""


class TopicIdsMissing(BrokerUnavailable):
    """The backing cluster has no topic ids, on which share groups are built.

    Raised where metadata is read: the brokers are older than Kafka 2.8, or run with an older
    `inter.broker.protocol.version`. Share groups cannot be served; plain traffic is not concerned.
    """


@dataclass(frozen=True, slots=True)
class ClusterBroker(BackingBroker):
    """A backing broker with its rack."""

    rack: str | None


@dataclass(slots=True)
class _KnownTopic:
    description: TopicDescription
    leaders: list[PartitionLeader]
    last_asked_ms: int
    confirmed_ms: int
    offline: dict[int, tuple[int, ...]]
    """By partition the brokers with a replica of it that is offline; without those that have none."""
    offline_on: frozenset[int]
    """All these brokers."""


@dataclass(slots=True)
class ViewChanges:
    """What one response changed."""

    are_brokers_changed: bool = False
    moved_topics: set[TopicId] = field(default_factory=set)
    """Topics with another leader or leader epoch of a partition, new ones, and those that are gone."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What was not believed of a response, and whether nothing but it was taken in of what else it says."""

    undecided: frozenset[str]
    is_alone: bool


class ClusterView:
    """Brokers, topics and leaders as last heard. A topic nobody asks about is forgotten by `forget_idle`."""

    def __init__(self, *, unknown_ttl_ms: int) -> None:
        self.version = 0
        """Rises whenever a broker, a topic or a leader in the view is another one."""
        self.cluster_id: str | None = None
        self.brokers: dict[int, ClusterBroker] = {}
        self._by_id: dict[TopicId, _KnownTopic] = {}
        self._id_by_name: dict[str, TopicId] = {}
        self._unknown_ttl_ms = unknown_ttl_ms
        self._missing_until_ms: OrderedDict[str | TopicId, int] = OrderedDict()  # the first to end first
        self._gone_ms: OrderedDict[TopicId, int] = OrderedDict()
        self._left_ms: dict[int, int] = {}
        self._offline_counts = Counter[int]()
        """Of the brokers with offline replicas, how many topics have one there."""

    @property
    def topic_names(self) -> Collection[str]:
        """The names of all topics in the view."""
        return self._id_by_name.keys()

    def topic_named(self, name: str, now_ms: int) -> TopicDescription | None:
        """Return the topic of that name, and note that somebody asked about it."""
        topic_id = self._id_by_name.get(name)
        return self.topic_with_id(topic_id, now_ms) if topic_id is not None else None

    def id_of(self, name: str) -> TopicId | None:
        """Return the id of the topic of that name, None when there is none in the view."""
        return self._id_by_name.get(name)

    def partition_count(self, name: str) -> int:
        """Return how many partitions the topic of that name has, 1 when there is none in the view."""
        topic_id = self._id_by_name.get(name)
        return 1 if topic_id is None else len(self._by_id[topic_id].leaders)

    def was_gone(self, topic_id: TopicId) -> bool:
        """Return whether the topic was in the view, and then was not there any more, some minutes ago at most."""
        return topic_id in self._gone_ms

    def topic_with_id(self, topic_id: TopicId, now_ms: int) -> TopicDescription | None:
        """Return the topic of that id, and note that somebody asked about it."""
        known = self._by_id.get(topic_id)
        if known is None:
            return None
        known.last_asked_ms = now_ms
        return known.description

    def leader_of(self, topic_id: TopicId, partition: int) -> PartitionLeader | None:
        """Return the leader, with id -1 while there is none; None for an unknown topic or partition."""
        known = self._by_id.get(topic_id)
        if known is None or not 0 <= partition < len(known.leaders):
            return None
        return known.leaders[partition]

    def offline_replicas(self, topic_id: TopicId, partition: int) -> tuple[int, ...]:
        """Return the brokers with a replica of a partition that was offline when it was last heard of."""
        known = self._by_id.get(topic_id)
        offline = () if known is None else known.offline.get(partition, ())
        return tuple(node_id for node_id in offline if node_id not in self.brokers)

    def left_ms(self, node_id: int) -> int | None:
        """Return when the cluster stopped naming a broker; None while it does, and of one that is not known."""
        return self._left_ms.get(node_id)

    def is_awaited(self, node_id: int) -> bool:
        """Return whether a topic in the view has a replica on a broker that the cluster does not name.

        Then the broker is down, and was not removed. Kafka goes on naming replicas on brokers that are down.
        """
        return node_id not in self.brokers and node_id in self._offline_counts

    def is_unheard(self, name_or_id: str | TopicId, now_ms: int) -> bool:
        """Return whether the topic is neither in the view nor was found missing a moment ago.

        Nobody has the zero id, and brokers answer nothing at all when they are asked about it. An id that is gone
        does not come back, or if it does it is heard of by its name.
        """
        if name_or_id == ZERO_UUID or name_or_id in self._gone_ms:
            return False
        if name_or_id in self._id_by_name or name_or_id in self._by_id:
            return False
        return self._missing_until_ms.get(name_or_id, now_ms) <= now_ms

    def names_not_confirmed_after(self, topic_ids: Iterable[TopicId], moment_ms: int) -> set[str]:
        """Return the names of those topics in the view that no broker has spoken of after `moment_ms`."""
        known_topics = (self._by_id[topic_id] for topic_id in topic_ids if topic_id in self._by_id)
        return {known.description.name for known in known_topics if known.confirmed_ms <= moment_ms}

    def note_missing(self, names: Iterable[str], topic_ids: Iterable[TopicId], now_ms: int) -> None:
        """Remember for a moment which of these, just asked for, do not exist. Costs what is new, and what is over."""
        until_ms, missing = now_ms + self._unknown_ttl_ms, self._missing_until_ms
        absent_names = (name for name in names if name not in self._id_by_name)
        absent_ids = (topic_id for topic_id in topic_ids if topic_id not in self._by_id)
        for key in chain[str | TopicId](absent_names, absent_ids):
            missing[key] = until_ms
            missing.move_to_end(key)
        while len(missing) > MOST_MISSING:
            missing.popitem(last=False)
        for _ in range(MOST_FORGOTTEN):
            if not missing or next(iter(missing.values())) > now_ms:
                break
            missing.popitem(last=False)

    def expect(self, names: Iterable[str]) -> None:
        """Forget that these topics were found missing: somebody has created them."""
        for name in names:
            self._missing_until_ms.pop(name, None)

    def forget_idle(self, asked_before_ms: int, *, apart_from: Collection[str] = frozenset()) -> None:
        """Drop the topics that nobody asked about since `asked_before_ms`, but not those of these names."""
        for known in [known for known in self._by_id.values() if known.last_asked_ms < asked_before_ms]:
            if known.description.name not in apart_from:
                self._drop(known.description)
                self.version += 1

    def absorb(
        self,
        response: MetadataResponse,
        *,
        asked_names: Iterable[str],
        now_ms: int,
        undecided: Collection[str] = frozenset(),
        later: Collection[str] = frozenset(),
    ) -> ViewChanges:
        """Take in a response to a question for `asked_names` (or for ids), and return what is different now.

        The topics of the names `later` are left for `absorb_more`.

        A topic is dropped when the broker says that there is none of that name. One that it would not speak of, for
        want of authorization or for any other error, stays as it was, and so do one described without an id, for
        `require_ids` to tell of, and one whose name is `undecided`; so do then the brokers, if any are known.
        """
        is_list_believed = not undecided or not self.brokers
        changes = ViewChanges(is_list_believed and self._absorb_brokers(response, now_ms))
        spoken_of = {*undecided, *later}
        left = frozenset(spoken_of)
        for topic in response.topics:
            if topic.name is None or topic.name in left:
                continue
            if _is_usable(topic):
                self._absorb_topic(topic.name, topic, changes, now_ms)
            elif topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                continue
            spoken_of.add(topic.name)
        for name in asked_names:
            if name not in spoken_of and (topic_id := self._id_by_name.get(name)) is not None:
                self._bury(topic_id, changes, now_ms)
        if changes.are_brokers_changed or changes.moved_topics:
            self.version += 1
        return changes

    def absorb_more(
        self, topics: Iterable[MetadataResponseTopic], *, now_ms: int, undecided: Collection[str]
    ) -> ViewChanges:
        """Take in topics of a response of which the rest was taken in before, but none that is `undecided`."""
        changes = ViewChanges()
        for topic in topics:
            if topic.name is not None and topic.name not in undecided and _is_usable(topic):
                self._absorb_topic(topic.name, topic, changes, now_ms)
        self.version += bool(changes.moved_topics)
        return changes

    def absorb_brokers(self, response: MetadataResponse, now_ms: int) -> ViewChanges:
        """Take in whom a response names as the brokers, and nothing of what it says of topics."""
        changes = ViewChanges(are_brokers_changed=self._absorb_brokers(response, now_ms))
        self.version += changes.are_brokers_changed
        return changes

    def _absorb_brokers(self, response: MetadataResponse, now_ms: int) -> bool:
        brokers = {
            broker.node_id: ClusterBroker(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in response.brokers
        }
        is_changed = brokers != self.brokers
        self._left_ms |= dict.fromkeys(self.brokers.keys() - brokers.keys(), now_ms)
        for node_id in brokers.keys() & self._left_ms.keys():
            del self._left_ms[node_id]
        while len(self._left_ms) > MOST_LEFT:
            del self._left_ms[next(iter(self._left_ms))]
        self.brokers = brokers
        self.cluster_id = response.cluster_id
        return is_changed

    def _absorb_topic(
        self, name: str, topic: MetadataResponseTopic, changes: ViewChanges, now_ms: int
    ) -> None:
        topic_id = TopicId(topic.topic_id)
        before = self._by_id.get(topic_id)
        leaders = _leaders(topic.partitions, before.leaders if before is not None else [])
        if before is None or before.leaders != leaders:
            changes.moved_topics.add(topic_id)
        if before is not None and before.description.name != name:
            self._drop(
                before.description
            )  # no broker renames a topic: an id has one name, the last one heard
        replaced_id = self._id_by_name.get(name)
        if replaced_id is not None and replaced_id != topic_id:
            self._bury(replaced_id, changes, now_ms)
        self._gone_ms.pop(topic_id, None)
        description = TopicDescription(topic_id, name, len(leaders))
        last_asked_ms = before.last_asked_ms if before is not None else now_ms
        offline = {
            each.partition_index: tuple(each.offline_replicas)
            for each in topic.partitions
            if each.offline_replicas
        }
        offline_on = frozenset(chain.from_iterable(offline.values()))
        self._count_offline(self._offline_on(topic_id), offline_on)
        self._by_id[topic_id] = _KnownTopic(description, leaders, last_asked_ms, now_ms, offline, offline_on)
        self._id_by_name[name] = topic_id

    def _bury(self, topic_id: TopicId, changes: ViewChanges, now_ms: int) -> None:
        """Drop a topic that is not there any more, and remember that: an id never comes to mean another topic."""
        self._drop(self._by_id[topic_id].description)
        changes.moved_topics.add(topic_id)
        self._gone_ms[topic_id] = now_ms
        while self._gone_ms:
            oldest_id = next(iter(self._gone_ms))
            if self._gone_ms[oldest_id] > now_ms - GONE_TTL_MS and len(self._gone_ms) <= MOST_GONE:
                break
            del self._gone_ms[oldest_id]

    def _offline_on(self, topic_id: TopicId) -> Collection[int]:
        known = self._by_id.get(topic_id)
        return () if known is None else known.offline_on

    def _count_offline(self, before: Collection[int], after: Collection[int]) -> None:
        """Count a topic out of the brokers that had offline replicas of it, and into those that have some."""
        self._offline_counts.update(after)
        for node_id in before:
            self._offline_counts[node_id] -= 1
            if not self._offline_counts[node_id]:
                del self._offline_counts[node_id]

    def _drop(self, description: TopicDescription) -> None:
        self._count_offline(self._offline_on(description.topic_id), ())
        del self._by_id[description.topic_id]
        if self._id_by_name.get(description.name) == description.topic_id:
            del self._id_by_name[description.name]


def in_portions(
    topics: Iterable[MetadataResponseTopic], at_first: Collection[str]
) -> Sequence[Sequence[MetadataResponseTopic]]:
    """Return `topics` in portions of `PARTITIONS_AT_ONCE`; those without any and those named `at_first` come first."""
    portions: list[list[MetadataResponseTopic]] = [[]]
    room = PARTITIONS_AT_ONCE
    for topic in topics:
        count = len(topic.partitions)
        if not count or topic.name in at_first:
            portions[0].append(topic)
            continue
        if count > room and room < PARTITIONS_AT_ONCE:
            portions.append([])
            room = PARTITIONS_AT_ONCE
        portions[-1].append(topic)
        room -= count
    return portions


def require_ids(topics: Iterable[MetadataResponseTopic]) -> None:
    """Return if all `topics` that a broker describes have ids.

    Raises:
        TopicIdsMissing: one has none.
    """
    for topic in topics:
        if topic.topic_id == ZERO_UUID and topic.name is not None and _is_described(topic):
            raise TopicIdsMissing(
                f"topic {topic.name!r} has no id: share groups need topic ids (Kafka 2.8 and later)"
            )


def _is_usable(topic: MetadataResponseTopic) -> bool:
    return topic.topic_id != ZERO_UUID and _is_described(topic)


def _is_described(topic: MetadataResponseTopic) -> bool:
    # A topic just created is described, with its id, under LEADER_NOT_AVAILABLE by older brokers.
    return topic.error_code in {ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE} and bool(topic.partitions)


def _leaders(
    partitions: Collection[MetadataResponsePartition], before: list[PartitionLeader]
) -> list[PartitionLeader]:
    # Partitions are numbered from 0 without gaps, and a topic never loses one.
    leaders = before + [NO_LEADER] * (len(partitions) - len(before))
    for partition in partitions:
        if not 0 <= partition.partition_index < len(leaders):
            continue
        known = leaders[partition.partition_index]
        # Brokers learn of an election one after the other: the one that was asked may be behind.
        if partition.leader_epoch >= known.leader_epoch:
            leaders[partition.partition_index] = PartitionLeader(partition.leader_id, partition.leader_epoch)
    return leaders
