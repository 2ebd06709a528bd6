"""Which virtual broker coordinates a group: the one that FindCoordinator names, which is the backing cluster's word.

A broker answers NOT_COORDINATOR to what it is asked about a group of another broker, and lists its own groups only, so
that clients who ask every broker hear of each group once. kproxy holds all groups in one process, but does the same.

The coordinator of a group is the leader of its partition of `__consumer_offsets`, which is known from metadata at no
cost. Only who seems to have come to the wrong port costs a question: brokers may know more than kproxy does, and they
go by the number of partitions that the topic had when they started.

Source: `GroupCoordinatorService.partitionFor`, `KafkaApis.handleFindCoordinatorRequest`.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from kproxy.errors import BrokerUnavailable, CoordinatorNotAvailable, GroupIdNotFound, NotCoordinator
from kproxy.handlers.live.pauses import let_others_go_on
from kproxy.handlers.ports import ClusterMetadata, TopicDescription
from kproxy.share.identifiers import BOOTSTRAP_NODE_ID, GroupId
from kproxy.statelog.partitioning import group_partition

OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Where a cluster keeps its groups (`Topic.GROUP_METADATA_TOPIC_NAME`)."""

NOBODY: Final = -1
"""The leader of a partition that has none."""

MOST_AT_ONCE: Final = 500
"""Groups whose coordinators are computed before others have a turn: some milliseconds."""


class GroupNamespace(Protocol):
    """The groups of the backing cluster: one namespace for groups of every type, each with one coordinator."""

    async def is_foreign(self, group_id: str) -> bool:
        """Tell whether `group_id` is a group of another type in the backing cluster. Raises BrokerUnavailable."""
        ...

    async def foreign_among(self, group_ids: Collection[str]) -> frozenset[str]:
        """Return those of `group_ids` that are groups of another type there. Raises BrokerUnavailable."""
        ...

    async def coordinators_of(self, group_ids: Sequence[str]) -> Mapping[str, int]:
        """Return the node ids of the brokers that coordinate these groups, of those that the cluster tells.

        Raises BrokerUnavailable when nobody answers.
        """
        ...


class GroupCoordinators:
    """Tells whether a port is that of a group's coordinator. The bootstrap port stands for every broker."""

    __slots__ = ("_metadata", "_namespace")

    def __init__(self, metadata: ClusterMetadata, namespace: GroupNamespace) -> None:
        self._metadata = metadata
        self._namespace = namespace

    async def require(self, group_id: str, node_id: int) -> None:
        """Return if requests about the group are served on the port of `node_id`, or nobody knows better.

        Raises:
            NotCoordinator: another broker coordinates the group.
        """
        coordinator_id = (await self.elsewhere((group_id,), node_id)).get(group_id)
        if coordinator_id is not None:
            raise not_coordinator(group_id, coordinator_id)

    async def elsewhere(self, group_ids: Sequence[str], node_id: int) -> Mapping[str, int]:
        """Return those of `group_ids` that are not served on the port of `node_id`, with their coordinators."""
        topic = None if node_id == BOOTSTRAP_NODE_ID else await self._offsets_topic()
        if topic is None:
            return {}
        suspected: dict[str, int] = {}
        for number, group_id in enumerate(group_ids, 1):
            leader_id = self._leader_id(topic, group_id)
            if leader_id not in {node_id, NOBODY, None}:
                suspected[group_id] = leader_id
            if number % MOST_AT_ONCE == 0:
                await let_others_go_on()
        try:
            told = await self._namespace.coordinators_of(tuple(suspected)) if suspected else {}
        except BrokerUnavailable:
            return {}
        return {group_id: found for group_id, found in {**suspected, **told}.items() if found != node_id}

    async def coordinated_at(self, group_ids: Sequence[GroupId], node_id: int) -> Sequence[GroupId]:
        """Return those of `group_ids` that the broker of `node_id` coordinates; all of them where nobody can say.

        A group whose coordinator is away is coordinated by nobody.
        """
        topic = None if node_id == BOOTSTRAP_NODE_ID else await self._fresh_offsets_topic()
        if topic is None:
            return group_ids
        found: list[GroupId] = []
        for number, group_id in enumerate(group_ids, 1):
            if self._leader_id(topic, group_id) in {node_id, None}:
                found.append(group_id)
            if number % MOST_AT_ONCE == 0:
                await let_others_go_on()
        return found

    async def require_free(self, group_id: str) -> None:
        """Return if no group of another type has the id, so that a share group may be made of it.

        Raises:
            GroupIdNotFound: one has; it is told as `GroupMetadataManager.getOrMaybeCreatePersistedShareGroup` tells it.
            CoordinatorNotAvailable: the cluster cannot be asked.
        """
        try:
            is_foreign = await self._namespace.is_foreign(group_id)
        except BrokerUnavailable as failure:
            raise CoordinatorNotAvailable(
                f"the groups of the cluster cannot be asked: {failure}"
            ) from failure
        if is_foreign:
            raise GroupIdNotFound(_of_another_type(group_id))

    async def not_found(self, group_ids: Sequence[str]) -> Mapping[str, GroupIdNotFound]:
        """Return what is said of ids that no share group has: as a broker says it, which knows groups of every type.

        The backing cluster is asked; where a coordinator says nothing, all ids are taken as unknown.
        """
        foreign_ids: frozenset[str] = frozenset()
        with suppress(BrokerUnavailable):
            foreign_ids = await self._namespace.foreign_among(group_ids)
        return {
            group_id: GroupIdNotFound(
                _of_another_type(group_id) if group_id in foreign_ids else f"Group {group_id} not found."
            )
            for group_id in group_ids
        }

    def _leader_id(self, topic: TopicDescription, group_id: str) -> int | None:
        """Return the broker that coordinates a group, NOBODY while there is none, None when that is not known."""
        partition = group_partition(GroupId(group_id), topic.partition_count)
        leader = self._metadata.leader_of(topic.topic_id, partition)
        return None if leader is None else leader.leader_id

    async def _fresh_offsets_topic(self) -> TopicDescription | None:
        topic = await self._offsets_topic()
        if topic is not None:
            with suppress(BrokerUnavailable):
                await self._metadata.confirm((topic.topic_id,), not_older_than_ms=0)
        return topic

    async def _offsets_topic(self) -> TopicDescription | None:
        """Return the topic, None when it is not there yet, or nobody can say."""
        try:
            found = await self._metadata.topics_named((OFFSETS_TOPIC,))
        except BrokerUnavailable:
            return None
        return found.get(OFFSETS_TOPIC)


def _of_another_type(group_id: str) -> str:
    return f"Group {group_id} is not a share group."


def not_coordinator(group_id: str, coordinator_id: int) -> NotCoordinator:
    """Return what is said of a group on the port of another broker than its coordinator."""
    return NotCoordinator(f"node {coordinator_id} coordinates group {group_id!r}")
