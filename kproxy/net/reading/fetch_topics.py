"""Fetch requests and responses by topic-partition, whether brokers speak of topics by id or by name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.messages.fetch_request import FetchPartition, FetchTopic, ForgottenTopic
from kproxy.wire.messages.fetch_response import FetchResponse, PartitionData

FIRST_VERSION_BY_TOPIC_ID: Final = 13
"""From here on Fetch names topics by id (KIP-516); below it by name, and the reader checks the ids itself."""


@dataclass(frozen=True, slots=True)
class FetchEntry:
    """One topic-partition to fetch, from `fetch_offset` inclusive, as the leader of `leader_epoch` has it."""

    topic_id: TopicId
    topic_name: str
    partition: int
    fetch_offset: int
    leader_epoch: int
    max_bytes: int


def fetch_topics(entries: Iterable[FetchEntry]) -> list[FetchTopic]:
    """Return the topics of a FetchRequest, in the order in which they first occur.

    Both the name and the id are set; the codec writes the one that the version has.
    """
    topics: dict[TopicId, FetchTopic] = {}
    for entry in entries:
        topic = topics.get(entry.topic_id)
        if topic is None:
            topic = topics[entry.topic_id] = FetchTopic(topic=entry.topic_name, topic_id=entry.topic_id)
        topic.partitions.append(
            FetchPartition(
                partition=entry.partition,
                current_leader_epoch=entry.leader_epoch,
                fetch_offset=entry.fetch_offset,
                partition_max_bytes=entry.max_bytes,
            )
        )
    return list(topics.values())


def forgotten_topics(entries: Iterable[FetchEntry]) -> list[ForgottenTopic]:
    """Return the topic-partitions of `entries` as those that an incremental fetch session gives up."""
    topics: dict[TopicId, ForgottenTopic] = {}
    for entry in entries:
        topic = topics.get(entry.topic_id)
        if topic is None:
            topic = topics[entry.topic_id] = ForgottenTopic(topic=entry.topic_name, topic_id=entry.topic_id)
        topic.partitions.append(entry.partition)
    return list(topics.values())


def fetched_partitions(
    response: FetchResponse, version: int, topic_ids: Mapping[str, TopicId]
) -> dict[TopicIdPartition, PartitionData]:
    """Return what a response says, by topic-partition; `topic_ids` are those of the names asked for.

    What was not asked for is left out.
    """
    found: dict[TopicIdPartition, PartitionData] = {}
    for topic in response.responses:
        is_by_id = version >= FIRST_VERSION_BY_TOPIC_ID
        topic_id = TopicId(topic.topic_id) if is_by_id else topic_ids.get(topic.topic)
        if topic_id is None:
            continue
        for partition in topic.partitions:
            found[TopicIdPartition(topic_id, partition.partition_index)] = partition
    return found
