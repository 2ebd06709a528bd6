"""Which share-partitions a virtual broker may serve, and where to send a client that asked another one.

A share-partition is led by the leader of its topic-partition (KIP-932), so a ShareFetch belongs on the port
of that broker's id. The bootstrap port stands for every broker. Acknowledgements are taken on any port.
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kproxy.error_codes import ErrorCode
from kproxy.errors import BrokerUnavailable, CoordinatorNotAvailable
from kproxy.handlers.authorization import ALL_READABLE, TOPIC_DENIED, ReadableTopics
from kproxy.handlers.ports import BrokerEndpoint, ClusterMetadata, PartitionLeader, TopicDescription
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, TopicId, TopicIdPartition

NO_LEADER: Final = PartitionLeader(leader_id=-1, leader_epoch=-1)

ERRORS_WITH_LEADER: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
"""Errors that come with CurrentLeader and NodeEndpoints (KIP-951)."""


@dataclass(frozen=True, slots=True)
class PartitionRefusal:
    """Why nothing is fetched from a partition, or why its acknowledgements failed."""

    error_code: ErrorCode
    message: str


UNAUTHORIZED: Final = PartitionRefusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_DENIED)
"""The sender of the request may not read the topic."""

_METADATA_AWAY: Final = PartitionRefusal(
    ErrorCode.NOT_LEADER_OR_FOLLOWER, "the cluster's metadata is not available"
)


def unauthorized(
    readable: ReadableTopics,
    partitions: Iterable[TopicIdPartition],
    *,
    all_but: Mapping[TopicIdPartition, PartitionRefusal] | None = None,
) -> dict[TopicIdPartition, PartitionRefusal]:
    """Return which of `partitions` are of topics that must not be read.

    With `all_but`, which were refused already and are returned as well, every other one that is not known to be
    readable is refused, too: a topic whose name nobody could tell.

    Raises:
        CoordinatorNotAvailable: it cannot be told what the sender may do.
    """
    refused = {} if all_but is None else dict(all_but)
    if all_but is not None and not readable.is_everything:
        left = (each for each in partitions if each not in refused)
        return refused | {each: _METADATA_AWAY for each in left if not readable.may_read(each.topic_id)}
    named = tuple(partitions)
    denied = readable.denied(each.topic_id for each in named)
    if not denied:
        return refused
    return refused | {each: UNAUTHORIZED for each in named if each.topic_id in denied}


def undeliverable(readable: ReadableTopics, topic_id: TopicId) -> PartitionRefusal | None:
    """Return why records of a topic that was readable must not be delivered now; None when they may be."""
    try:
        return None if readable.may_read(topic_id) else UNAUTHORIZED
    except CoordinatorNotAvailable as unknown:
        return PartitionRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, str(unknown))


def group_refusal(readable: ReadableTopics) -> PartitionRefusal | None:
    """Return why nothing can be acquired for the group while nobody knows who may read it; None when that is known."""
    try:
        readable.may_read_group()
    except CoordinatorNotAvailable as unknown:
        return PartitionRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, str(unknown))
    return None


class Leadership:
    """Checks partitions against the cluster's metadata."""

    __slots__ = ("_metadata",)

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    async def refusals(
        self,
        partitions: Collection[TopicIdPartition],
        node_id: int,
        readable: ReadableTopics = ALL_READABLE,
    ) -> Mapping[TopicIdPartition, PartitionRefusal]:
        """Return which of `partitions` cannot be fetched on the port of `node_id`, and why.

        What must not be read is refused first, wherever it is led. The topic of one that seems to be led elsewhere is
        asked for once more: the client may know more than kproxy does. Raises CoordinatorNotAvailable, see `readable`.
        """
        denied = unauthorized(readable, partitions)
        left = [each for each in partitions if each not in denied] if denied else partitions
        refused = await self._refused(left, node_id)
        if await self.look_again_after(refused):
            refused = await self._refused(refused, node_id)
        return unauthorized(readable, partitions, all_but=denied | refused)

    async def unknown_partitions(
        self, partitions: Iterable[TopicIdPartition]
    ) -> Mapping[TopicIdPartition, PartitionRefusal]:
        """Return which of `partitions` the cluster does not have, whoever leads them."""
        leaderless = [each for each in partitions if self._leader_of(each) is None]
        refused = await self._why_unknown(leaderless)
        return {
            partition: refusal
            for partition, refusal in refused.items()
            if refusal.error_code not in ERRORS_WITH_LEADER
        }

    def is_known(self, partition: TopicIdPartition) -> bool:
        """Return whether the cluster has the partition, as far as was heard; nobody is asked."""
        return self._metadata.leader_of(partition.topic_id, partition.partition) is not None

    def leader_for(self, partition: TopicIdPartition, error_code: ErrorCode) -> PartitionLeader | None:
        """Return the leader to name beside `error_code`; None when that error names none."""
        if error_code not in ERRORS_WITH_LEADER:
            return None
        return self._metadata.leader_of(partition.topic_id, partition.partition) or NO_LEADER

    def endpoints_of(self, leaders: Iterable[PartitionLeader]) -> list[BrokerEndpoint]:
        """Return the advertised addresses of `leaders` by rising node id, without those that have none."""
        wanted = {leader.leader_id for leader in leaders}
        found = [point for point in self._metadata.advertised_endpoints() if point.node_id in wanted]
        return sorted(found, key=lambda point: point.node_id)

    async def look_again_after(self, refusals: Mapping[TopicIdPartition, PartitionRefusal]) -> bool:
        """Ask for the topics whose leaders are not the leaders, as these say; tell whether there are any."""
        doubtful = {
            partition.topic_id
            for partition, refusal in refusals.items()
            if refusal.error_code in ERRORS_WITH_LEADER
        }
        if doubtful:
            with suppress(BrokerUnavailable):  # what is known stays the best answer
                await self._metadata.confirm(doubtful, not_older_than_ms=0)
        return bool(doubtful)

    async def _refused(
        self, partitions: Iterable[TopicIdPartition], node_id: int
    ) -> dict[TopicIdPartition, PartitionRefusal]:
        leaderless: list[TopicIdPartition] = []
        refused: dict[TopicIdPartition, PartitionRefusal] = {}
        for partition in partitions:
            leader = self._leader_of(partition)
            if leader is None:
                leaderless.append(partition)
            elif node_id not in {BOOTSTRAP_NODE_ID, leader.leader_id}:
                refused[partition] = _led_by(leader.leader_id)
        return refused | await self._why_unknown(leaderless)

    def _leader_of(self, partition: TopicIdPartition) -> PartitionLeader | None:
        return self._metadata.leader_of(partition.topic_id, partition.partition)

    async def _why_unknown(
        self, partitions: Collection[TopicIdPartition]
    ) -> dict[TopicIdPartition, PartitionRefusal]:
        """Ask for the topics of all `partitions` together, and return why each is not served."""
        if not partitions:
            return {}
        try:
            topics = await self._metadata.topics_with_ids({each.topic_id for each in partitions})
        except BrokerUnavailable:
            return dict.fromkeys(partitions, _METADATA_AWAY)
        return {each: _why_unknown(each, topics.get(each.topic_id)) for each in partitions}


def _led_by(leader_id: int) -> PartitionRefusal:
    who = "the partition has no leader" if leader_id < 0 else f"node {leader_id} leads the partition"
    return PartitionRefusal(ErrorCode.NOT_LEADER_OR_FOLLOWER, who)


def _why_unknown(partition: TopicIdPartition, topic: TopicDescription | None) -> PartitionRefusal:
    if topic is None:
        return PartitionRefusal(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
    if not 0 <= partition.partition < topic.partition_count:
        return PartitionRefusal(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic '{topic.name}' has no partition {partition.partition}",
        )
    return _led_by(NO_LEADER.leader_id)
