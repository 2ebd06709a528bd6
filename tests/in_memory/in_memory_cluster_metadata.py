"""`InMemoryClusterMetadata`: the `ClusterMetadata` port as a few dictionaries."""

import asyncio
from collections.abc import Callable, Collection, Mapping

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import BrokerEndpoint, PartitionLeader, TopicDescription
from kproxy.share.identifiers import TopicId


class InMemoryClusterMetadata:
    """A backing cluster with the brokers of `node_ids`; its topics are what `create_topic` made."""

    def __init__(self, node_ids: Collection[int] = (1,)) -> None:
        self.is_unavailable = False
        self.confirmed: list[Collection[TopicId]] = []
        self.may_confirm = asyncio.Event()
        """Cleared, `confirm` returns only when it is set."""
        self.may_confirm.set()
        self.look_up_count = 0
        """How often topics were asked for by id."""
        self.on_topics: list[Callable[[Collection[TopicId]], None]] = []
        """Called with a topic that is new, has other partitions, or is gone, as the real one does."""
        self.endpoints = [BrokerEndpoint(node_id, "127.0.0.1", 19092 + node_id, None) for node_id in node_ids]
        self.asked_names: list[str] = []
        """The names that were asked for, in no order, without Kafka's own topics."""
        self._topics: dict[TopicId, TopicDescription] = {}
        self._leaders: dict[tuple[TopicId, int], PartitionLeader] = {}

    def create_topic(self, name: str, topic_id: TopicId, *, partition_count: int = 1) -> TopicDescription:
        """Create a topic, or give it more partitions; leaders go round the brokers, epoch 0."""
        description = TopicDescription(topic_id, name, partition_count)
        self._topics[topic_id] = description
        for partition in range(partition_count):
            leader_id = self.endpoints[partition % len(self.endpoints)].node_id
            self._leaders.setdefault((topic_id, partition), PartitionLeader(leader_id, 0))
        self._tell(topic_id)
        return description

    def delete_topic(self, topic_id: TopicId) -> None:
        """Forget a topic and its leaders."""
        description = self._topics.pop(topic_id)
        for partition in range(description.partition_count):
            del self._leaders[topic_id, partition]
        self._tell(topic_id)

    def move_leader(self, topic_id: TopicId, partition: int, leader: PartitionLeader) -> None:
        """Make `leader` the leader of a topic-partition."""
        self._leaders[topic_id, partition] = leader

    async def topics_named(self, names: Collection[str]) -> Mapping[str, TopicDescription]:
        self.asked_names.extend(name for name in names if not name.startswith("__"))
        self._ask()
        return {topic.name: topic for topic in self._topics.values() if topic.name in names}

    async def topic_with_id(self, topic_id: TopicId) -> TopicDescription | None:
        return (await self.topics_with_ids([topic_id])).get(topic_id)

    async def topics_with_ids(self, topic_ids: Collection[TopicId]) -> Mapping[TopicId, TopicDescription]:
        self.look_up_count += 1
        self._ask()
        return {topic_id: self._topics[topic_id] for topic_id in topic_ids if topic_id in self._topics}

    async def missing_topics(self, topics: Mapping[TopicId, str]) -> Collection[TopicId]:
        self._ask()
        return [topic_id for topic_id in topics if topic_id not in self._topics]

    def leader_of(self, topic_id: TopicId, partition: int) -> PartitionLeader | None:
        return self._leaders.get((topic_id, partition))

    def advertised_endpoints(self) -> Collection[BrokerEndpoint]:
        return tuple(self.endpoints)

    async def confirm(self, topic_ids: Collection[TopicId], *, not_older_than_ms: int) -> None:
        assert not_older_than_ms == 0, "nothing is old in memory"
        self.confirmed.append(topic_ids)
        await self.may_confirm.wait()
        self._ask()

    def _tell(self, topic_id: TopicId) -> None:
        for tell in self.on_topics:
            tell((topic_id,))

    def _ask(self) -> None:
        if self.is_unavailable:
            raise BrokerUnavailable("the in-memory cluster was told to be away")
