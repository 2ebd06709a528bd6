"""`LogEnds`: high watermarks, or last stable offsets, of many topic-partitions, by few ListOffsets to each leader."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.ports import LATEST_TIMESTAMP, PartitionLeader, TopicDescription
from kproxy.net.cluster.broker_connections import ReadConnections
from kproxy.net.cluster.leader_doubts import LEADER_DOUBTS
from kproxy.net.cluster.metadata import ClusterMetadataCache
from kproxy.net.reading.offset_lookup import NAME_TRUSTED_FOR_MS, REMOTE_LOOKUP_TIMEOUT_MS
from kproxy.share.identifiers import TopicId, TopicIdPartition
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kproxy.wire.messages.list_offsets_response import ListOffsetsResponse

PARTITIONS_PER_REQUEST: Final = 250
"""An answer is decoded in one go: so many take about two milliseconds."""


@dataclass(frozen=True, slots=True)
class _Located:
    """A topic-partition whose leader is known."""

    partition: TopicIdPartition
    topic: TopicDescription
    leader: PartitionLeader


class LogEnds:
    """Finds the ends of logs, as `isolation` has them; each becomes known as soon as its leader has answered.

    `ends` holds what was found; `reasons` why others were not, and `codes` what clients are told of that. Whoever runs
    out of time takes what is there.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: ReadConnections,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> None:
        self.ends: dict[TopicIdPartition, int] = {}
        self.reasons: dict[TopicIdPartition, str] = {}
        self.codes: dict[TopicIdPartition, ErrorCode] = {}
        self._metadata = metadata
        self._connections = connections
        self._isolation = isolation
        self._doubtful: list[TopicIdPartition] = []

    async def find(self, wanted: Collection[TopicIdPartition]) -> None:
        """Ask the leaders, and those who lead now once more where the first was not the leader. Raises nothing."""
        await self._ask(wanted, not_older_than_ms=NAME_TRUSTED_FOR_MS)
        if doubtful := tuple(self._doubtful):
            self._doubtful.clear()
            await self._ask(doubtful, not_older_than_ms=0)

    async def _ask(self, wanted: Collection[TopicIdPartition], *, not_older_than_ms: int) -> None:
        try:
            # ListOffsets goes by name in every version, so the name must still mean this topic.
            topic_ids = {each.topic_id for each in wanted}
            await self._metadata.confirm(topic_ids, not_older_than_ms=not_older_than_ms)
        except BrokerUnavailable as failure:
            for partition in wanted:
                self._refuse(partition, ErrorCode.NETWORK_EXCEPTION, str(failure))
            return
        async with asyncio.TaskGroup() as tasks:
            for leader_id, located in self._by_leader(wanted).items():
                tasks.create_task(self._ask_leader(leader_id, located))

    def _by_leader(self, wanted: Iterable[TopicIdPartition]) -> Mapping[int, Sequence[_Located]]:
        by_leader: dict[int, list[_Located]] = {}
        for partition in wanted:
            topic = self._metadata.describe(partition.topic_id)
            if topic is None:
                self._refuse_unknown(partition)
                continue
            try:
                leader = self._metadata.require_leader(topic, partition.partition)
            except BrokerUnavailable as leaderless:
                self._doubt(partition, ErrorCode.LEADER_NOT_AVAILABLE, str(leaderless))
            else:
                by_leader.setdefault(leader.leader_id, []).append(_Located(partition, topic, leader))
        return by_leader

    async def _ask_leader(self, leader_id: int, located: Sequence[_Located]) -> None:
        for start in range(0, len(located), PARTITIONS_PER_REQUEST):
            part = located[start : start + PARTITIONS_PER_REQUEST]
            try:
                client = await self._connections.reader(leader_id)
                response = await client.request(ApiKey.LIST_OFFSETS, _request(part, self._isolation))
            except BrokerUnavailable as failure:
                for each in part:
                    self._doubt(each.partition, ErrorCode.NETWORK_EXCEPTION, str(failure))
            else:
                assert isinstance(response, ListOffsetsResponse)
                self._take(response, part, client.peer)

    def _take(self, response: ListOffsetsResponse, asked: Sequence[_Located], peer: str) -> None:
        answered = {
            (topic.name, partition.partition_index): partition
            for topic in response.topics
            for partition in topic.partitions
        }
        for each in asked:
            answer = answered.get((each.topic.name, each.partition.partition))
            code = ErrorCode.UNKNOWN_SERVER_ERROR if answer is None else known_code(answer.error_code)
            if answer is not None and code is ErrorCode.NONE:
                self.ends[each.partition] = answer.offset
                self.reasons.pop(each.partition, None)
                self.codes.pop(each.partition, None)
            elif code in LEADER_DOUBTS:
                self._doubt(each.partition, code, f"{peer} answered ListOffsets with {code.name}")
            else:
                self._refuse(each.partition, code, f"{peer} answered ListOffsets with {code.name}")

    def _refuse_unknown(self, partition: TopicIdPartition) -> None:
        failure = self._metadata.last_failure
        if failure is None:
            reason = "the cluster has no topic with this id"
            self._refuse(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
        else:
            self._refuse(partition, ErrorCode.NETWORK_EXCEPTION, str(failure))

    def _doubt(self, partition: TopicIdPartition, code: ErrorCode, reason: str) -> None:
        self._refuse(partition, code, reason)
        self._doubtful.append(partition)

    def _refuse(self, partition: TopicIdPartition, code: ErrorCode, reason: str) -> None:
        self.reasons[partition], self.codes[partition] = reason, code


def _request(located: Sequence[_Located], isolation: IsolationLevel) -> ListOffsetsRequest:
    topics: dict[TopicId, ListOffsetsTopic] = {}
    for each in located:
        topic = topics.setdefault(each.topic.topic_id, ListOffsetsTopic(name=each.topic.name, partitions=[]))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=each.partition.partition,
                current_leader_epoch=each.leader.leader_epoch,
                timestamp=LATEST_TIMESTAMP,
            )
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=list(topics.values()),
        timeout_ms=REMOTE_LOOKUP_TIMEOUT_MS,
    )
