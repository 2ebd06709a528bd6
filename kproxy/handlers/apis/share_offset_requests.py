"""What the three requests about the offsets of share groups (API keys 90 to 92) have in common."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kproxy.errors import (
    BrokerUnavailable,
    CoordinatorNotAvailable,
    ImpossiblePartition,
    InvalidGroupId,
)
from kproxy.handlers.administration_bounds import AdministrationBounds
from kproxy.handlers.authorization import Authorization
from kproxy.handlers.backlog import Backlogs
from kproxy.handlers.groups.group_coordinators import GroupCoordinators
from kproxy.handlers.groups.group_deletions import GroupDeletions
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.groups.principal_quotas import PrincipalQuotas
from kproxy.handlers.groups.state_deletions import StateDeletions
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.offset_store import ShareOffsetStore
from kproxy.handlers.ports import ClusterMetadata, GroupLog, Observer, TopicDescription
from kproxy.handlers.request_context import RequestContext
from kproxy.security.acls import AclOperation, ResourceType
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import GroupId, require_storable_group_id

NO_SUCH_PARTITION: Final = "This server does not host this topic-partition."
"""What Kafka says of topics and partitions that are not there, and its tools show."""


@dataclass(frozen=True, slots=True)
class ShareOffsetServices:
    """What the handlers stand on."""

    coordinator: GroupCoordinator
    directory: SharePartitionDirectory
    writes: GroupWrites
    state_deletions: StateDeletions
    group_deletions: GroupDeletions
    store: ShareOffsetStore
    backlogs: Backlogs
    metadata: ClusterMetadata
    group_log: GroupLog
    coordinators: GroupCoordinators
    observer: Observer
    bounds: AdministrationBounds
    authorization: Authorization
    quotas: PrincipalQuotas

    async def require_group(self, group_id: str, context: RequestContext) -> GroupId:
        """Return the id of a group that requests on this port may be about.

        Raises:
            InvalidGroupId: it is empty.
            InvalidRequest: it is too long for the state log.
            NotCoordinator: another broker coordinates the group, or another process owns its slot.
            CoordinatorLoadInProgress: the group is being restored.
        """
        if not group_id:
            raise InvalidGroupId("The group id is invalid.")
        require_storable_group_id(group_id)
        await self.coordinators.require(group_id, context.node_id)
        self.group_log.require_ready(group_id)
        return GroupId(group_id)

    async def require_settled(self, group_id: GroupId) -> None:
        """Return when the group is not on its way out, or gone. Raises ApiError when its deletion goes on later."""
        await self.group_deletions.complete(group_id)

    async def learn_rights(
        self, context: RequestContext, operation: AclOperation, group_id: str, topic_names: Iterable[str]
    ) -> None:
        """Learn whether the sender may do `operation` on the group, and read the topics; see `Authorization.learn`."""
        await self.authorization.learn_group(context, operation, group_id)
        await self.authorization.learn(context, AclOperation.READ, ResourceType.TOPIC, lambda: topic_names)

    def denied_topics(self, names: Iterable[str], context: RequestContext) -> Collection[str]:
        """Return those of `names` whose offsets the sender must not change. Raises CoordinatorNotAvailable."""
        allows_topic = self.authorization.allows_topic
        return {name for name in set(names) if not allows_topic(context, AclOperation.READ, name)}

    async def topics_named(self, names: Collection[str]) -> Mapping[str, TopicDescription]:
        """Return those of `names` that the cluster has. Raises CoordinatorNotAvailable when it cannot be asked."""
        try:
            return await self.metadata.topics_named(names) if names else {}
        except BrokerUnavailable as failure:
            raise CoordinatorNotAvailable(f"the cluster cannot be asked about topics: {failure}") from failure


def require_possible(group_id: str, topic_name: str, partitions: Iterable[int]) -> None:
    """Raise ImpossiblePartition unless the group has an id, and all `partitions` are 0 or higher."""
    if not group_id:
        raise ImpossiblePartition(f"partitions of {topic_name!r} in a group whose id is empty")
    for number in partitions:
        if number < 0:
            raise ImpossiblePartition(f"partition {number} of {topic_name!r}, expected 0 or higher")
