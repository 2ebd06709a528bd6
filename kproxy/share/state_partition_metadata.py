"""Which share-partitions of one group have durable state, and how far those are that are to get or to lose it.

    (unknown) ──▶ initializing ──▶ initialized ──▶ deleting ──▶ (unknown)
                       └───────────────────────────────▲

Every step is made durable before the state itself is touched, so that an interrupted one is found again.
Source: `ShareGroupStatePartitionMetadata` records, `GroupMetadataManager.java`.
"""

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, KeysView, Mapping, Sequence
from dataclasses import dataclass

from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import SharePartitionKey, TopicId, TopicIdPartition
from kproxy.share.share_group_image import StatePartitions, StateTopics
from kproxy.share.state_batches import UNKNOWN_START_OFFSET


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """Partitions of one topic to initialize, ascending. Start offset -1 leaves it open until one is loaded."""

    numbers: tuple[int, ...]
    start_offset: int


@dataclass(frozen=True, slots=True, eq=False)
class _Attempt:
    """What initializes partitions of one topic that were begun together.

    `start_offset` is 0, or -1 for an open choice; `since_ms` is None when the next attempt need not wait.
    """

    start_offset: int
    since_ms: int | None

    def is_recent(self, now_ms: int, retry_interval_ms: int) -> bool:
        """Tell whether it is to be waited for."""
        return self.since_ms is not None and now_ms - self.since_ms < retry_interval_ms


class StatePartitionMetadata:
    """The share-partitions of one group by stage; each is in one stage at most."""

    __slots__ = (
        "_deleting",
        "_deletions",
        "_initialized",
        "_initializing",
        "_names",
        "_pictured",
        "revision",
    )

    def __init__(self) -> None:
        self.revision = 0
        """Rises when other partitions are initialized."""
        self._names: dict[TopicId, str] = {}
        self._initializing: dict[TopicId, dict[int, _Attempt]] = {}
        self._initialized: dict[TopicId, frozenset[int]] = {}
        self._deleting: dict[TopicId, frozenset[int]] = {}
        self._deletions: dict[TopicId, int] = {}
        self._pictured: tuple[int, StateTopics] | None = None

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
            under_way = dict.fromkeys(sorted(state.partitions), _Attempt(UNKNOWN_START_OFFSET, None))
            under_way.update(dict.fromkeys(state.from_zero & state.partitions, _Attempt(0, None)))
            if under_way:
                restored._initializing[topic_id] = under_way
        return restored

    @property
    def initializing(self) -> StateTopics:
        """What is being initialized, as its image has it."""
        return {
            topic_id: StatePartitions(
                self._names[topic_id],
                frozenset(under_way),
                frozenset(number for number, attempt in under_way.items() if attempt.start_offset == 0),
            )
            for topic_id, under_way in self._initializing.items()
        }

    @property
    def initialized(self) -> StateTopics:
        """What may be assigned, as its image has it; the same object for one revision."""
        if self._pictured is None or self._pictured[0] != self.revision:
            self._pictured = self.revision, self._named(self._initialized)
        return self._pictured[1]

    @property
    def initialized_topics(self) -> KeysView[TopicId]:
        """The topics of what may be assigned, as a view that follows what happens."""
        return self._initialized.keys()

    @property
    def deleting(self) -> StateTopics:
        """What is being deleted, as its image has it."""
        return self._named(self._deleting)

    @property
    def is_under_way(self) -> bool:
        """Whether somebody is initializing partitions at this moment."""
        return self.is_under_way_of(self._initializing)

    def is_under_way_of(self, topic_ids: Container[TopicId]) -> bool:
        """Tell whether somebody is initializing partitions of one of these topics at this moment."""
        return any(
            attempt.since_ms is not None
            for topic_id, under_way in self._initializing.items()
            if topic_id in topic_ids
            for attempt in under_way.values()
        )

    @property
    def partition_count(self) -> int:
        """How many partitions have state, or may have."""
        return sum(len(numbers) for stage in self._stages for numbers in stage.values())

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
        for topic_id, under_way in self._initializing.items():
            counts[topic_id] = max(counts.get(topic_id, 0), max(under_way) + 1)
        return {self._names[topic_id]: TopicPartitions(topic_id, count) for topic_id, count in counts.items()}

    def begin(
        self, name: str, topic: TopicPartitions, *, retry_interval_ms: int, now_ms: int
    ) -> Sequence[NewPartitions]:
        """Mark as initializing, and return, the partitions that are neither initialized nor recently begun.

        Partitions added to a topic that the group knows begin at offset 0, so that nothing produced before this
        moment is missed (as of Kafka 4.4; 4.3.1 applies the auto reset to them too). An attempt that is repeated
        begins where the first one would have. Nothing is begun of a topic whose state is being deleted.
        """
        if topic.topic_id in self._deleting or self.is_initialized(topic):
            return ()
        self._names[topic.topic_id] = name
        begun: dict[int, list[int]] = {}
        if added := self._unknown_of(topic):
            begun[self._first_choice(topic.topic_id)] = added
        under_way = self._initializing.setdefault(topic.topic_id, {})
        for number, attempt in under_way.items():
            if number < topic.partition_count and not attempt.is_recent(now_ms, retry_interval_ms):
                begun.setdefault(attempt.start_offset, []).append(number)
        for start_offset, numbers in begun.items():
            under_way.update(dict.fromkeys(numbers, _Attempt(start_offset, now_ms)))
        return [
            NewPartitions(tuple(sorted(numbers)), start_offset)
            for start_offset, numbers in sorted(begun.items())
        ]

    def begin_alteration(self, name: str, topic: TopicPartitions) -> bool:
        """Mark as initializing all of a topic that is not initialized; tell whether there was any.

        Some of these are about to get start offsets. The others get none: they begin where `begin` would have let
        them, and are not taken for partitions that were added since. Nothing may be deleting of the topic.
        """
        assert topic.topic_id not in self._deleting, f"the state of {name} is being deleted"
        self._names[topic.topic_id] = name
        if added := self._unknown_of(topic):
            attempt = _Attempt(self._first_choice(topic.topic_id), None)
            self._initializing.setdefault(topic.topic_id, {}).update(dict.fromkeys(added, attempt))
        return bool(added)

    def attempts(self) -> Mapping[TopicIdPartition, object]:
        """Return what is initializing now, each with an object that is another one once it was begun anew."""
        return {
            TopicIdPartition(topic_id, number): attempt
            for topic_id, under_way in self._initializing.items()
            for number, attempt in under_way.items()
        }

    def finish(self, partitions: Iterable[TopicIdPartition | SharePartitionKey]) -> bool:
        """Let those of `partitions` that are initializing be initialized; tell whether there were any.

        Those whose topic was deleted meanwhile are not.
        """
        finished = {
            topic_id: self._initializing[topic_id].keys() & numbers
            for topic_id, numbers in _by_topic(partitions).items()
            if topic_id in self._initializing
        }
        for topic_id, numbers in finished.items():
            self._end_attempts(topic_id, numbers)
            if numbers:
                self._initialized[topic_id] = self.initialized_of(topic_id) | numbers
        has_finished = any(finished.values())
        self.revision += has_finished
        return has_finished

    def fail(self, partitions: Iterable[TopicIdPartition | SharePartitionKey]) -> None:
        """Let `begin` return these again; they stay initializing, for nobody knows whether they have state."""
        for topic_id, numbers in _by_topic(partitions).items():
            under_way = self._initializing.get(topic_id, {})
            again = {offset: _Attempt(offset, None) for offset in (0, UNKNOWN_START_OFFSET)}
            under_way.update(
                (number, again[under_way[number].start_offset]) for number in numbers if number in under_way
            )

    def begin_deletion(self, topic_ids: Collection[TopicId]) -> bool:
        """Move all that may have state of these topics to deleting; tell whether any of it is there by now."""
        self.revision += 1
        for topic_id in topic_ids:
            numbers = self._deleting.get(topic_id, frozenset()).union(
                self._initialized.pop(topic_id, ()), self._initializing.pop(topic_id, ())
            )
            if numbers:
                self._deleting[topic_id] = numbers
                self._deletions.setdefault(topic_id, self.revision)
        return not self._deleting.keys().isdisjoint(topic_ids)

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

    @property
    def _stages(self) -> tuple[Mapping[TopicId, Collection[int]], ...]:
        """The numbers of every partition that has state, or may have."""
        return self._initializing, self._initialized, self._deleting

    def _unknown_of(self, topic: TopicPartitions) -> list[int]:
        """Return the partitions of a topic that are neither initializing nor initialized."""
        begun, done = self._initializing.get(topic.topic_id, {}), self.initialized_of(topic.topic_id)
        return [
            number for number in range(topic.partition_count) if number not in begun and number not in done
        ]

    def _first_choice(self, topic_id: TopicId) -> int:
        """Return at which offset partitions begin that are new to the group."""
        return 0 if self.initialized_of(topic_id) else UNKNOWN_START_OFFSET

    def _end_attempts(self, topic_id: TopicId, numbers: Iterable[int]) -> None:
        under_way = self._initializing[topic_id]
        for number in numbers:
            del under_way[number]
        if not under_way:
            del self._initializing[topic_id]

    def _named(self, partitions: Mapping[TopicId, frozenset[int]]) -> StateTopics:
        return {
            topic_id: StatePartitions(self._names[topic_id], numbers)
            for topic_id, numbers in partitions.items()
        }


def _by_topic(
    partitions: Iterable[TopicIdPartition | SharePartitionKey],
) -> Mapping[TopicId, Collection[int]]:
    numbers: defaultdict[TopicId, list[int]] = defaultdict(list)
    for each in partitions:
        numbers[each.topic_id].append(each.partition)
    return numbers
