"""`Watches`: the topic-partitions that somebody waits for, by topic; `WatchRounds`: a look at very many of them.

Sessions may have two hundred thousand partitions of one topic, and all are looked at when it goes.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.net.reading.sleepers import Watch
from kproxy.net.tasks import TaskKeeper
from kproxy.share.identifiers import TopicId, TopicIdPartition

MOST_LOOKED_AT: Final = 2_000
"""Watches, and topics, that are looked at in one turn: some 5 ms where each goes into the tail of another broker."""


class Watches:
    """Watches by their topic and partition."""

    __slots__ = ("_of_topics",)

    def __init__(self) -> None:
        self._of_topics: dict[TopicId, dict[TopicIdPartition, Watch]] = {}

    def __len__(self) -> int:
        """How many there are."""
        return sum(map(len, self._of_topics.values()))

    def __contains__(self, topic_partition: TopicIdPartition) -> bool:
        return self.get(topic_partition) is not None

    @property
    def topic_ids(self) -> Collection[TopicId]:
        """The topics with any: a view that follows what happens."""
        return self._of_topics.keys()

    def get(self, topic_partition: TopicIdPartition) -> Watch | None:
        """Return the watch of a topic-partition, None without."""
        of_topic = self._of_topics.get(topic_partition.topic_id)
        return None if of_topic is None else of_topic.get(topic_partition)

    def count_of(self, topic_id: TopicId) -> int:
        """Return how many watches of a topic there are."""
        return len(self._of_topics.get(topic_id, ()))

    def of(self, topic_id: TopicId) -> Sequence[Watch]:
        """Return the watches of a topic: a copy, so that they may change meanwhile."""
        return tuple(self._of_topics.get(topic_id, {}).values())

    def is_any_of(self, topic_id: TopicId, is_one: Callable[[Watch], bool]) -> bool:
        """Tell whether `is_one` says so of any watch of a topic."""
        return any(map(is_one, self._of_topics.get(topic_id, {}).values()))

    def add(self, watch: Watch) -> None:
        """Keep a watch, of which there may be one already."""
        topic_partition = watch.topic_partition
        self._of_topics.setdefault(topic_partition.topic_id, {})[topic_partition] = watch

    def discard(self, topic_partition: TopicIdPartition) -> None:
        """Forget the watch of a topic-partition, if there is one."""
        of_topic = self._of_topics.get(topic_partition.topic_id)
        if of_topic is not None:
            of_topic.pop(topic_partition, None)
            if not of_topic:
                del self._of_topics[topic_partition.topic_id]


class WatchRounds:
    """Calls `look` with each watch of topics, `MOST_LOOKED_AT` in a turn of the loop: at once where they are few.

    Args:
        watches: all there are; `look` may take any out.
        look: what is done with each that is still there.
        tasks: keep what takes several turns.
        name: of the task.
    """

    __slots__ = ("_due", "_is_under_way", "_look", "_name", "_tasks", "_watches")

    def __init__(
        self, watches: Watches, look: Callable[[Watch], None], *, tasks: TaskKeeper, name: str
    ) -> None:
        self._watches = watches
        self._look = look
        self._tasks = tasks
        self._name = name
        self._due: OrderedDict[TopicId, None] = (
            OrderedDict()
        )  # a dictionary finds its first key ever more slowly
        self._is_under_way = False

    def begin(self, topic_ids: Collection[TopicId]) -> None:
        """Look at what there is of these topics, behind what is left to be looked at; return at once."""
        self._due.update(dict.fromkeys(topic_ids))
        if self._is_under_way:
            return
        portions = self._portions()
        self._is_under_way = next(portions, None) is not None
        if self._is_under_way:
            self._tasks.spawn(self._go_on(portions), name=self._name)

    async def _go_on(self, portions: Iterator[int]) -> None:
        try:
            await let_others_go_on()
            while next(portions, None) is not None:
                await let_others_go_on()
        finally:
            self._is_under_way = False

    def _portions(self) -> Iterator[int]:
        """Look at all, and yield when it is time for a pause."""
        left = MOST_LOOKED_AT
        while self._due:
            topic_id, _ = self._due.popitem(last=False)
            if self._watches.count_of(topic_id) >= left:
                yield left  # to copy them takes time, too
                left = MOST_LOOKED_AT
            left -= 1
            for watch in self._watches.of(topic_id):
                if left <= 0:
                    yield left
                    left = MOST_LOOKED_AT
                left -= 1
                if self._watches.get(watch.topic_partition) is watch:
                    self._look(watch)
