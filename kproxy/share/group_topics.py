"""What one share group knows of its topics: those that exist, and which of their partitions may be assigned."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping

from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata


class GroupTopics:
    """The subscribed topics by name, and the stages of their share-partitions."""

    __slots__ = ("known", "state_partitions")

    def __init__(self, state_partitions: StatePartitionMetadata) -> None:
        self.known: dict[str, TopicPartitions] = {}
        """Those of the subscribed topics that exist."""
        self.state_partitions = state_partitions

    def restore(self, subscribed_names: Container[str], assigned_from: Iterable[TopicId] | None) -> None:
        """Take for known what the group saw of its topics before it was restored.

        Under a current assignment a topic that is initialized and not in `assigned_from` was gone from the cluster
        already; None says that the assignment was not current.
        """
        gone = set[TopicId]()
        if assigned_from is not None:
            gone = self.state_partitions.initialized.keys() - set(assigned_from)
        last_known = self.state_partitions.last_known_topics(apart_from=gone)
        self.known = {name: topic for name, topic in last_known.items() if name in subscribed_names}

    def learn(self, topics: Mapping[str, TopicPartitions | None], subscribed_names: Iterable[str]) -> bool:
        """Take over what the cluster says of the subscribed topics; tell whether any of it is new.

        A name that is not in `topics` was not asked for (another member joined meanwhile): it stays as known.
        """
        known = {**self.known, **topics}
        current = {name: topic for name in subscribed_names if (topic := known.get(name)) is not None}
        has_changed = current != self.known
        self.known = current
        return has_changed

    def ids(self, names: Iterable[str]) -> frozenset[TopicId]:
        """Return the ids of those of `names` that exist."""
        return frozenset(self.known[name].topic_id for name in names if name in self.known)

    def assignable(self) -> dict[TopicId, frozenset[int]]:
        """Return the partitions that may be assigned: their durable state exists."""
        return {
            topic.topic_id: initialized
            for topic in self.known.values()
            if (initialized := self.state_partitions.initialized_of(topic.topic_id))
        }

    def wanted(self, members: Iterable[ShareGroupMember]) -> Iterator[TopicIdPartition]:
        """Yield every assignable partition that one of `members` subscribes to."""
        names = frozenset[str]().union(*(member.subscribed_topic_names for member in members))
        topic_ids = self.ids(names)
        for topic_id, numbers in self.assignable().items():
            if topic_id in topic_ids:
                yield from (TopicIdPartition(topic_id, number) for number in sorted(numbers))

    def permitted(
        self, member: ShareGroupMember, partitions: Collection[TopicIdPartition]
    ) -> frozenset[TopicIdPartition]:
        """Return those of `partitions` that `member` subscribes to and that may be assigned."""
        if not partitions:
            return frozenset()
        topic_ids = self.ids(member.subscribed_topic_names)
        return frozenset(
            partition
            for partition in partitions
            if partition.topic_id in topic_ids
            and partition.partition in self.state_partitions.initialized_of(partition.topic_id)
        )
