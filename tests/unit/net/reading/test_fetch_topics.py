from kproxy.net.reading.fetch_topics import FetchEntry, fetch_topics, fetched_partitions, forgotten_topics
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from tests.worlds.backing import ORDERS, PAYMENTS


def entry(topic_id: TopicId, name: str, partition: int) -> FetchEntry:
    return FetchEntry(topic_id, name, partition, fetch_offset=7, leader_epoch=3, max_bytes=100)


def test_partitions_of_one_topic_are_asked_for_together() -> None:
    # Given
    entries = [entry(ORDERS, "orders", 0), entry(PAYMENTS, "payments", 0), entry(ORDERS, "orders", 4)]

    # When
    topics = fetch_topics(entries)

    # Then
    assert [(topic.topic, topic.topic_id) for topic in topics] == [("orders", ORDERS), ("payments", PAYMENTS)]
    assert [partition.partition for partition in topics[0].partitions] == [0, 4]
    asked = topics[1].partitions[0]
    assert (asked.fetch_offset, asked.current_leader_epoch, asked.partition_max_bytes) == (7, 3, 100)


def test_forgotten_partitions_carry_name_and_id() -> None:
    # When
    topics = forgotten_topics([entry(ORDERS, "orders", 0), entry(ORDERS, "orders", 2)])

    # Then
    assert [(topic.topic, topic.topic_id, topic.partitions) for topic in topics] == [
        ("orders", ORDERS, [0, 2])
    ]


def test_a_response_that_goes_by_id_is_read_by_id() -> None:
    # Given
    topic = FetchableTopicResponse(topic_id=ORDERS, partitions=[PartitionData(partition_index=2)])

    # When
    found = fetched_partitions(FetchResponse(responses=[topic]), 13, {})

    # Then
    assert found == {TopicIdPartition(ORDERS, 2): topic.partitions[0]}


def test_a_response_that_goes_by_name_is_read_by_the_ids_that_were_meant() -> None:
    # Given
    asked = FetchableTopicResponse(topic="orders", partitions=[PartitionData(partition_index=2)])
    stray = FetchableTopicResponse(topic="nobody asked", partitions=[PartitionData(partition_index=0)])

    # When
    found = fetched_partitions(FetchResponse(responses=[asked, stray]), 12, {"orders": ORDERS})

    # Then
    assert found == {TopicIdPartition(ORDERS, 2): asked.partitions[0]}
