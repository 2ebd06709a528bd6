"""What a group knows of its topics."""

import pytest

from kproxy.share.group_topics import GroupTopics
from kproxy.share.heartbeat import TopicPartitions
from kproxy.share.identifiers import TopicIdPartition
from kproxy.share.share_group_member import ShareGroupMember
from kproxy.share.state_partition_metadata import StatePartitionMetadata
from tests.worlds.share_builders import ALICE, OTHER_TOPIC, TOPIC

PAID, SENT = TopicPartitions(TOPIC, 2), TopicPartitions(OTHER_TOPIC, 1)


@pytest.fixture
def topics() -> GroupTopics:
    """Two known topics; partition 0 of each is initialized."""
    state = StatePartitionMetadata()
    for name, topic in (("paid", PAID), ("sent", SENT)):
        state.begin(name, topic, retry_interval_ms=1, now_ms=0)
        state.finish([TopicIdPartition(topic.topic_id, 0)])
    known = GroupTopics(state)
    known.learn({"paid": PAID, "sent": SENT}, ["paid", "sent"])
    return known


def test_news_are_told_from_what_is_known(topics: GroupTopics) -> None:
    assert not topics.learn({"paid": PAID}, ["paid", "sent"])
    assert topics.learn({"paid": None}, ["paid", "sent"])
    assert topics.known == {"sent": SENT}


def test_only_what_is_initialized_may_be_assigned(topics: GroupTopics) -> None:
    assert topics.assignable() == {TOPIC: frozenset([0]), OTHER_TOPIC: frozenset([0])}


def test_a_member_may_have_what_it_subscribes_to_and_what_may_be_assigned(topics: GroupTopics) -> None:
    # Given
    alice = ShareGroupMember(ALICE, subscribed_topic_names=frozenset(["paid"]))

    # Then
    asked_for = [TopicIdPartition(TOPIC, 0), TopicIdPartition(TOPIC, 1), TopicIdPartition(OTHER_TOPIC, 0)]
    assert topics.permitted(alice, asked_for) == {TopicIdPartition(TOPIC, 0)}
    assert list(topics.wanted([alice])) == [TopicIdPartition(TOPIC, 0)]


def test_a_restored_group_knows_the_topics_that_it_saw_last(topics: GroupTopics) -> None:
    # Given
    restored = GroupTopics(topics.state_partitions)

    # When
    restored.restore({"paid", "sent"}, assigned_from=[TOPIC])
    of_current_assignment = dict(restored.known)
    restored.restore({"paid", "sent"}, assigned_from=None)

    # Then
    assert of_current_assignment.keys() == {"paid"}
    assert restored.known.keys() == {"paid", "sent"}
