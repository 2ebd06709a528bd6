"""Which share-partitions of one group have durable state, and how far those are that are to get or to lose it.

    (unknown) ──▶ initializing ──▶ initialized ──▶ deleting ──▶ (unknown)
                       └───────────────────────────────▲

Every step is made durable before the state itself is touched, so that an interrupted one is found again.
Source: `ShareGroupStatePartitionMetadata` records, `GroupMetadataManager.java`.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.share_group_image import StatePartitions, StateTopics
from kproxy.share.state_batches import UNKNOWN_START_OFFSET


@dataclass(frozen=True, slots=True)
class NewPartition:
    """A partition to initialize. Start offset -1 leaves the choice to whoever loads it first."""

    number: int
    start_offset: int


@dataclass(slots=True)
class _Initializing:
    """`start_offset` is 0, or -1 for an open choice; `since_ms` is None when the next attempt need not wait."""

    start_offset: int
    since_ms: int | None

    def is_recent(self, now_ms: int, retry_interval_ms: int) -> bool:
        """Tell whether the last attempt is to be waited for."""
        return self.since_ms is not None and now_ms - self.since_ms < retry_interval_ms


class StatePartitionMetadata:
    """The share-partitions of one group by stage; each is in one stage at most."""

    __slots__ = ("_deleting", "_deletions", "_initialized", "_initializing", "_names", "revision")

    def __init__(self) -> None:
        self.revision = 0
        """Rises when other partitions are initialized."""
        self._names: dict[TopicId, str] = {}
        self._initializing: dict[TopicIdPartition, _Initializing] = {}
        self._initialized: dict[TopicId, frozenset[int]] = {}
        self._deleting: dict[TopicId, frozenset[int]] = {}
        self._deletions: dict[TopicId, int] = {}

    @classmethod
    def restore(
        cls, *, initializing: StateTopics, initialized: StateTopics, deleting: StateTopics
    ) -> "StatePartitionMetadata":
        """Rebuild it from its image. What was initializing is to be begun again, where it was to begin before."""
        restored = cls()
        for stage in (deleting, initialized, initializing):
            restored._names.update({topic_id: state.topic_name for topic_id, state in stage.items()})
        restored._initialized = {topic_id: state.partitions for topic_id, state in initialized.items()}
        restored._deleting = {topic_id: state.partitions for topic_id, state in deleting.items()}
        restored._deletions = dict.fromkeys(deleting, restored.revision)
        for topic_id, state in initializing.items():
            for number in sorted(state.partitions):
                partition = TopicIdPartition(topic_id, number)
                start_offset = 0 if number in state.from_zero else UNKNOWN_START_OFFSET
                restored._initializing[partition] = _Initializing(start_offset, None)
        return restored

    @property
    def initializing(self) -> StateTopics:
        """What is being initialized, as its image has it."""
        offsets: dict[TopicId, dict[int, int]] = {}
        for partition, under_way in self._initializing.items():
            offsets.setdefault(partition.topic_id, {})[partition.partition] = under_way.start_offset
        return {
            topic_id: StatePartitions(
                self._names[topic_id],
                frozenset(of_topic),
                frozenset(number for number, start_offset in of_topic.items() if start_offset == 0),
            )
            for topic_id, of_topic in offsets.items()
        }

    @property
    def initialized(self) -> StateTopics:
        """What may be assigned, as its image has it."""
        return self._named(self._initialized)

    @property
    def deleting(self) -> StateTopics:
        """What is being deleted, as its image has it."""
        return self._named(self._deleting)

    @property
    def is_under_way(self) -> bool:
        """Whether somebody is initializing partitions at this moment."""
        return any(under_way.since_ms is not None for under_way in self._initializing.values())

    def is_under_way_of(self, topic_ids: Container[TopicId]) -> bool:
        """Tell whether somebody is initializing partitions of one of these topics at this moment."""
        return any(
            under_way.since_ms is not None and partition.topic_id in topic_ids
            for partition, under_way in self._initializing.items()
        )

    @property
    def partitions(self) -> tuple[TopicIdPartition, ...]:
        """Every partition that has state, or may have."""
        stages = (self._initialized, self._deleting)
        settled = ((topic_id, numbers) for stage in stages for topic_id, numbers in stage.items())
        return (
            *self._initializing,
            *(TopicIdPartition(topic_id, number) for topic_id, numbers in settled for number in numbers),
        )

    @property
    def partition_count(self) -> int:
        """How many `partitions` there are."""
        settled = sum(
            len(numbers) for stage in (self._initialized, self._deleting) for numbers in stage.values()
        )
        return len(self._initializing) + settled

    @property
    def topic_names(self) -> Mapping[TopicId, str]:
        """Every topic with share-partitions in some stage but deleting."""
        return {topic_id: name for topic_id, name in self._names.items() if topic_id not in self._deleting}

    def initialized_of(self, topic_id: TopicId) -> frozenset[int]:
        """Return the partitions of a topic that may be assigned."""
        return self._initialized.get(topic_id, frozenset())

    def is_initialized(self, topic: TopicPartitions) -> bool:
        """Tell whether every partition of a topic may be assigned."""
        return len(self.initialized_of(topic.topic_id)) >= topic.partition_count

    def last_known_topics(self, apart_from: Container[TopicId] = ()) -> Mapping[str, TopicPartitions]:
        """Return by name what the group saw of each topic last, but for the initialized ones of `apart_from`."""
        counts: dict[TopicId, int] = {}
        for topic_id, numbers in self._initialized.items():
            if topic_id not in apart_from:
                counts[topic_id] = max(numbers) + 1
        for topic_id, number in ((p.topic_id, p.partition) for p in self._initializing):
            counts[topic_id] = max(counts.get(topic_id, 0), number + 1)
        return {self._names[topic_id]: TopicPartitions(topic_id, count) for topic_id, count in counts.items()}

    def begin(
        self, name: str, topic: TopicPartitions, *, retry_interval_ms: int, now_ms: int
    ) -> tuple[NewPartition, ...]:
        """Mark as initializing, and return, the partitions that are neither initialized nor recently begun.

        Partitions added to a topic that the group knows begin at offset 0, so that nothing produced before this
        moment is missed (as of Kafka 4.4; 4.3.1 applies the auto reset to them too). An attempt that is repeated
        begins where the first one would have. Nothing is begun of a topic whose state is being deleted.
        """
        done = self.initialized_of(topic.topic_id)
        if topic.topic_id in self._deleting or len(done) >= topic.partition_count:
            return ()
        self._names[topic.topic_id] = name
        begun: list[NewPartition] = []
        for number in range(topic.partition_count):
            partition = TopicIdPartition(topic.topic_id, number)
            under_way = self._initializing.get(partition)
            if number in done or (under_way is not None and under_way.is_recent(now_ms, retry_interval_ms)):
                continue
            first_choice = 0 if done else UNKNOWN_START_OFFSET
            start_offset = first_choice if under_way is None else under_way.start_offset
            self._initializing[partition] = _Initializing(start_offset, now_ms)
            begun.append(NewPartition(number, start_offset))
        return tuple(begun)

    def begin_alteration(self, name: str, topic: TopicPartitions) -> bool:
        """Mark as initializing all of a topic that is not initialized; tell whether there was any.

        Some of these are about to get start offsets. The others get none: they begin where `begin` would have let
        them, and are not taken for partitions that were added since. Nothing may be deleting of the topic.
        """
        assert topic.topic_id not in self._deleting, f"the state of {name} is being deleted"
        self._names[topic.topic_id] = name
        done = self.initialized_of(topic.topic_id)
        places = (TopicIdPartition(topic.topic_id, number) for number in range(topic.partition_count))
        added = [place for place in places if place.partition not in done and place not in self._initializing]
        start_offset = 0 if done else UNKNOWN_START_OFFSET
        self._initializing.update((place, _Initializing(start_offset, None)) for place in added)
        return bool(added)

    def attempts(self) -> Mapping[TopicIdPartition, object]:
        """Return what is initializing now, each with an object that is another one once it was begun anew."""
        return dict(self._initializing)

    def finish(self, partitions: Iterable[TopicIdPartition]) -> bool:
        """Let those of `partitions` that are initializing be initialized; tell whether there were any.

        Those whose topic was deleted meanwhile are not.
        """
        finished: dict[TopicId, set[int]] = {}
        for partition in partitions:
            if self._initializing.pop(partition, None) is not None:
                finished.setdefault(partition.topic_id, set()).add(partition.partition)
        self.revision += bool(finished)
        for topic_id, numbers in finished.items():
            self._initialized[topic_id] = self.initialized_of(topic_id) | numbers
        return bool(finished)

    def fail(self, partitions: Iterable[TopicIdPartition]) -> None:
        """Let `begin` return these again; they stay initializing, for nobody knows whether they have state."""
        for partition in partitions:
            if partition in self._initializing:
                self._initializing[partition].since_ms = None

    def begin_deletion(self, topic_ids: Collection[TopicId]) -> tuple[TopicIdPartition, ...]:
        """Move all that may have state of these topics to deleting; return what is deleting of them by now."""
        self.revision += 1
        under_way: dict[TopicId, list[int]] = {topic_id: [] for topic_id in topic_ids}
        for place in [place for place in self._initializing if place.topic_id in under_way]:
            del self._initializing[place]
            under_way[place.topic_id].append(place.partition)
        for topic_id, initializing in under_way.items():
            numbers = self._deleting.get(topic_id, frozenset()) | self._initialized.pop(topic_id, frozenset())
            numbers = numbers.union(initializing)
            if numbers:
                self._deleting[topic_id] = numbers
                self._deletions.setdefault(topic_id, self.revision)
        return tuple(
            TopicIdPartition(topic_id, number)
            for topic_id in topic_ids
            for number in sorted(self._deleting.get(topic_id, ()))
        )

    def deletions_of(self, topic_ids: Iterable[TopicId]) -> Mapping[TopicId, int]:
        """Return which deletion each of these topics is in, of those that are in one: none has two of one number."""
        return {topic_id: self._deletions[topic_id] for topic_id in topic_ids if topic_id in self._deletions}

    def finish_deletion(self, topic_ids: Iterable[TopicId]) -> bool:
        """Forget the topics whose state is gone; tell whether there were any."""
        gone = [topic_id for topic_id in topic_ids if topic_id in self._deleting]
        for topic_id in gone:
            del self._deleting[topic_id], self._deletions[topic_id]
            del self._names[topic_id]
        return bool(gone)

    def _named(self, partitions: Mapping[TopicId, frozenset[int]]) -> StateTopics:
        return {
            topic_id: StatePartitions(self._names[topic_id], numbers)
            for topic_id, numbers in partitions.items()
        }


def partitions_of(keys: Iterable[SharePartitionKey]) -> Iterator[TopicIdPartition]:
    """Yield the partitions of share-partitions of one group."""
    return (TopicIdPartition(key.topic_id, key.partition) for key in keys)
