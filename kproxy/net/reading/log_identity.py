"""`require_log_of`: proof that what a leader has under a topic's name is the log of that very topic.

Some requests go by name in every version. A broker that is behind may have the log of a deleted topic of the same name
still, with the same leader epoch; an offset of that log is a place in the new one where nothing is, or is passed over.
"""

from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import PartitionLeader, TopicDescription
from kproxy.net.cluster.broker_answers import require_success
from kproxy.net.cluster.broker_client import BrokerClient
from kproxy.net.reading.fetch_topics import (
    FIRST_VERSION_BY_TOPIC_ID,
    FetchEntry,
    fetch_topics,
    fetched_partitions,
)
from kproxy.share.identifiers import TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse, PartitionData

BEYOND_ALL_RECORDS: Final = 1 << 62
"""An offset that no log has: the answer is OFFSET_OUT_OF_RANGE, and brings no records."""

_MOST_QUESTIONS: Final = 3
"""A broker whose quota is exceeded leaves the partition out, and says for how long nothing is to be asked."""


async def require_log_of(
    client: BrokerClient, topic: TopicDescription, partition: int, leader: PartitionLeader
) -> None:
    """Return if the broker leads the partition and knows it by its topic id; what is asked behind it is about it, too.

    A broker that is asked by name alone (before Kafka 3.1) is believed.

    Raises:
        BrokerUnavailable: it does not, or does not say.
    """
    version = client.version_for(ApiKey.FETCH)
    if version < FIRST_VERSION_BY_TOPIC_ID:
        return
    where = f"the log of {topic.name}-{partition} at {client.peer}"
    data = await _asked(client, version, topic, partition, leader)
    if data is None:
        raise BrokerUnavailable(f"Fetch of {where}: no answer to the question")
    if data.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
        require_success(data.error_code, f"Fetch of {where}")


async def _asked(
    client: BrokerClient, version: int, topic: TopicDescription, partition: int, leader: PartitionLeader
) -> PartitionData | None:
    entry = FetchEntry(topic.topic_id, topic.name, partition, BEYOND_ALL_RECORDS, leader.leader_epoch, 1)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=fetch_topics([entry]))
    for _ in range(_MOST_QUESTIONS):
        response = await client.request(ApiKey.FETCH, request, version)
        assert isinstance(response, FetchResponse)
        found = fetched_partitions(response, version, {}).get(TopicIdPartition(topic.topic_id, partition))
        if found is not None or not response.throttle_time_ms:
            return found
    return None
