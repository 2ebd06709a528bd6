"""`OffsetLookup`: ListOffsets to a partition's leader."""

from typing import Final

from kproxy.errors import BrokerUnavailable
from kproxy.handlers.ports import LATEST_TIMESTAMP, PartitionLeader
from kproxy.net.cluster.broker_answers import require_success
from kproxy.net.cluster.broker_connections import ReadConnections
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.log_identity import require_log_of
from kproxy.share.identifiers import TopicId
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse
from kproxy.wording import counted

NAME_TRUSTED_FOR_MS: Final = 1000
"""Where requests go by name: for how long a name is taken to have the id it was last seen with."""

REMOTE_LOOKUP_TIMEOUT_MS: Final = 10_000
"""What a broker may take to find an offset in tiered storage (ListOffsets version 10)."""

UNKNOWN_OFFSET: Final = -1


class OffsetLookup:
    """Finds offsets by timestamp, with one more try when the leader is not who it was thought to be.

    Of those whose topics' names are confirmed together, so many go on in a turn, if it `is_in_line`.
    """

    def __init__(
        self, *, metadata: ClusterMetadataCache, connections: ReadConnections, is_in_line: bool
    ) -> None:
        self._metadata = metadata
        self._connections = connections
        self._is_in_line = is_in_line

    async def find(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        """Return the first offset from `timestamp` on, or the high watermark when no record is that young.

        Raises:
            BrokerUnavailable: there is no such topic-partition, or its leader cannot say.
        """
        try:
            offset = await self._ask_leader(topic_id, partition, timestamp)
        except BrokerUnavailable:
            await self._metadata.confirm({topic_id}, not_older_than_ms=0)
            offset = await self._ask_leader(topic_id, partition, timestamp)
        if offset == UNKNOWN_OFFSET and timestamp != LATEST_TIMESTAMP:
            return await self._ask_leader(topic_id, partition, LATEST_TIMESTAMP)
        return offset

    async def _ask_leader(self, topic_id: TopicId, partition: int, timestamp: int) -> int:
        await self._metadata.topic_with_id(topic_id)
        # ListOffsets goes by name in every version, so the name must still mean this topic.
        await self._metadata.confirm(
            {topic_id}, not_older_than_ms=NAME_TRUSTED_FOR_MS, is_in_line=self._is_in_line
        )
        topic = self._metadata.describe(topic_id)
        if topic is None:
            raise BrokerUnavailable(f"no topic is known that has the topic id {topic_id.hex()}")
        leader = self._metadata.require_leader(topic, partition)
        client = await self._connections.reader(leader.leader_id)
        # And it must mean this topic to the leader, whatever the metadata say: on the same connection, before it.
        await require_log_of(client, topic, partition, leader)
        request = _request(topic.name, partition, leader, timestamp)
        response = await client.request(ApiKey.LIST_OFFSETS, request)
        assert isinstance(response, ListOffsetsResponse)
        return _offset_in(response, f"partition {partition} of {topic.name!r} at {client.peer}")


def _request(topic_name: str, partition: int, leader: PartitionLeader, timestamp: int) -> ListOffsetsRequest:
    listed = ListOffsetsPartition(
        partition_index=partition, current_leader_epoch=leader.leader_epoch, timestamp=timestamp
    )
    topic = ListOffsetsTopic(name=topic_name, partitions=[listed])
    return ListOffsetsRequest(replica_id=-1, topics=[topic], timeout_ms=REMOTE_LOOKUP_TIMEOUT_MS)


def _offset_in(response: ListOffsetsResponse, where: str) -> int:
    partitions = [partition for topic in response.topics for partition in topic.partitions]
    if len(partitions) != 1:
        raise BrokerUnavailable(
            f"ListOffsets of {where}: {counted(len(partitions), 'answer')} to one question"
        )
    require_success(partitions[0].error_code, f"ListOffsets of {where}")
    return partitions[0].offset
