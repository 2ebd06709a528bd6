"""`LogEnds`: high watermarks, last stable offsets or log starts of many topic-partitions, by few ListOffsets."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode, known_code
from kproxy.errors import BrokerUnavailable
from kproxy.handlers.isolation_levels import IsolationLevel
from kproxy.handlers.live.pauses import let_other_looks_go_on
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

_WORTH_ANOTHER_TRY: Final = LEADER_DOUBTS | {
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""A leader that was just elected says the first until its followers have fetched from it (KIP-207)."""


@dataclass(frozen=True, slots=True)
class _Located:
    """A topic-partition whose leader is known."""

    partition: TopicIdPartition
    topic: TopicDescription
    leader: PartitionLeader


class LogEnds:
    """Finds the ends of logs, as `isolation` has them; each becomes known as soon as its leader has answered.

    With EARLIEST_TIMESTAMP these are the ends at which logs begin. No leader has more than one request at a time, and
    between the parts of what is much `pause` is awaited.

    `ends` holds what was found; `reasons` why others were not, and `codes` what clients are told of that. Whoever runs
    out of time takes what is there.
    """

    def __init__(
        self,
        *,
        metadata: ClusterMetadataCache,
        connections: ReadConnections,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timestamp: int = LATEST_TIMESTAMP,
        pause: Callable[[], Awaitable[None]] = let_other_looks_go_on,
    ) -> None:
        self.ends: dict[TopicIdPartition, int] = {}
        self.reasons: dict[TopicIdPartition, str] = {}
        self.codes: dict[TopicIdPartition, ErrorCode] = {}
        self._metadata = metadata
        self._connections = connections
        self._isolation = isolation
        self._timestamp = timestamp
        self._pause = pause
        self._doubtful: list[TopicIdPartition] = []

    async def find(self, wanted: Sequence[TopicIdPartition]) -> None:
        """Ask the leaders, and those who lead now once more where that did not help. Raises nothing."""
        self._doubtful.clear()
        await self._ask(wanted, not_older_than_ms=NAME_TRUSTED_FOR_MS)
        if doubtful := tuple(self._doubtful):
            self._doubtful.clear()
            await self._ask(doubtful, not_older_than_ms=0)

    async def _ask(self, wanted: Sequence[TopicIdPartition], *, not_older_than_ms: int) -> None:
        try:
            await self._confirm(wanted, not_older_than_ms=not_older_than_ms)
        except BrokerUnavailable as failure:
            self._doubt_all(wanted, failure)
            return
        by_leader: dict[int, list[TopicIdPartition]] = {}
        for start in range(0, len(wanted), PARTITIONS_PER_REQUEST):
            if len(wanted) > PARTITIONS_PER_REQUEST:
                await self._pause()  # before the first, too: what is wanted may come of an answer as long
            for located in self._located(wanted[start : start + PARTITIONS_PER_REQUEST]):
                by_leader.setdefault(located.leader.leader_id, []).append(located.partition)
        async with asyncio.TaskGroup() as tasks:
            for leader_id, partitions in by_leader.items():
                tasks.create_task(self._ask_leader(leader_id, partitions))

    async def _confirm(self, partitions: Sequence[TopicIdPartition], *, not_older_than_ms: int) -> None:
        # ListOffsets goes by name in every version, so the name must still mean this topic.
        topic_ids = {each.topic_id for each in partitions}
        await self._metadata.confirm(topic_ids, not_older_than_ms=not_older_than_ms)

    def _located(self, partitions: Sequence[TopicIdPartition]) -> Sequence[_Located]:
        found: list[_Located] = []
        for partition in partitions:
            topic = self._metadata.describe(partition.topic_id)
            if topic is None:
                self._refuse_unknown(partition)
                continue
            try:
                leader = self._metadata.require_leader(topic, partition.partition)
            except BrokerUnavailable as leaderless:
                self._doubt(partition, ErrorCode.LEADER_NOT_AVAILABLE, str(leaderless))
            else:
                found.append(_Located(partition, topic, leader))
        return found

    async def _ask_leader(self, leader_id: int, partitions: Sequence[TopicIdPartition]) -> None:
        for start in range(0, len(partitions), PARTITIONS_PER_REQUEST):
            if start:
                await self._pause()
            try:
                await self._ask_for(leader_id, partitions[start : start + PARTITIONS_PER_REQUEST])
            except BrokerUnavailable as failure:
                # Each part might wait for as long as the first.
                self._doubt_all(partitions[start:], failure)
                return

    async def _ask_for(self, leader_id: int, partitions: Sequence[TopicIdPartition]) -> None:
        await self._confirm(partitions, not_older_than_ms=NAME_TRUSTED_FOR_MS)
        client = await self._connections.reader(leader_id)
        asked = self._still_led_by(leader_id, partitions)
        if asked:
            request = _request(asked, self._isolation, self._timestamp)
            response = await client.request(ApiKey.LIST_OFFSETS, request)
            assert isinstance(response, ListOffsetsResponse)
            self._take(response, asked, client.peer)

    def _still_led_by(self, leader_id: int, partitions: Sequence[TopicIdPartition]) -> Sequence[_Located]:
        located = self._located(partitions)
        for each in located:
            if each.leader.leader_id != leader_id:
                reason = f"{each.topic.name}-{each.partition.partition} has another leader"
                self._doubt(each.partition, ErrorCode.NOT_LEADER_OR_FOLLOWER, reason)
        return [each for each in located if each.leader.leader_id == leader_id]

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
            elif code in _WORTH_ANOTHER_TRY:
                self._doubt(each.partition, code, f"{peer} answered ListOffsets with {code.name}")
            else:
                self._refuse(each.partition, code, f"{peer} answered ListOffsets with {code.name}")

    def _refuse_unknown(self, partition: TopicIdPartition) -> None:
        failure = self._metadata.last_failure
        if failure is None:
            reason = "the cluster has no topic with this id"
            self._refuse(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
        else:
            self._doubt(partition, ErrorCode.NETWORK_EXCEPTION, str(failure))

    def _doubt_all(self, partitions: Sequence[TopicIdPartition], failure: BrokerUnavailable) -> None:
        reason = str(failure)
        for partition in partitions:
            self._doubt(partition, ErrorCode.NETWORK_EXCEPTION, reason)

    def _doubt(self, partition: TopicIdPartition, code: ErrorCode, reason: str) -> None:
        self._refuse(partition, code, reason)
        self._doubtful.append(partition)

    def _refuse(self, partition: TopicIdPartition, code: ErrorCode, reason: str) -> None:
        self.reasons[partition], self.codes[partition] = reason, code


def _request(located: Sequence[_Located], isolation: IsolationLevel, timestamp: int) -> ListOffsetsRequest:
    topics: dict[TopicId, ListOffsetsTopic] = {}
    for each in located:
        topic = topics.setdefault(each.topic.topic_id, ListOffsetsTopic(name=each.topic.name, partitions=[]))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=each.partition.partition,
                current_leader_epoch=each.leader.leader_epoch,
                timestamp=timestamp,
            )
        )
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation,
        topics=list(topics.values()),
        timeout_ms=REMOTE_LOOKUP_TIMEOUT_MS,
    )
