"""Groups that have initialized very much."""

from kproxy.share.heartbeat import Heartbeat, TopicPartitions
from kproxy.share.identifiers import GroupId, MemberId, TopicId
from kproxy.share.limits import GroupLimits
from tests.in_memory.inspectable import Inspectable


def initialize_narrow_topics(inspectable: Inspectable, group_id: GroupId, *, count: int) -> None:
    """Let a group have initialized so many topics of four partitions each."""
    topics = {
        f"topic-{number:04}": TopicPartitions(TopicId(f"id-of-topic-{number:04}".encode()), 4)
        for number in range(count)
    }
    heartbeat = Heartbeat(group_id, MemberId("alice"), 0, None, tuple(topics), "client", "/127.0.0.1")
    begun = inspectable.coordinator.admit(heartbeat, topics=topics, limits=GroupLimits(), now_ms=0)
    inspectable.coordinator.initialized(
        group_id, [key for topic in begun for key in topic.share_partitions()]
    )
