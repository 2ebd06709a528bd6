"""Who may do what: the port `Authorizer`, and what every served API asks of it.

What kproxy serves itself no broker sees, so no broker's authorizer is asked. Each API checks what `KafkaApis` of a
stock broker checks, in its order and with its errors: a group first, then topics. A principal whose rights cannot be
told is refused (COORDINATOR_NOT_AVAILABLE): nothing is served on trust.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Final, Protocol

from kproxy.errors import (
    BrokerUnavailable,
    ClusterAuthorizationFailed,
    CoordinatorNotAvailable,
    GroupAuthorizationFailed,
    TopicAuthorizationFailed,
)
from kproxy.handlers.asked_rights import ASK_BROKER, go_on_asking
from kproxy.handlers.ports import ClusterMetadata
from kproxy.handlers.request_context import RequestContext
from kproxy.interception.closed_topics import ClosedTopics
from kproxy.security.acls import CLUSTER_NAME, AclOperation, ResourceType
from kproxy.security.principal import KPROXY, Principal
from kproxy.share.identifiers import TopicId

GROUP_DENIED: Final = "Not authorized to access group: Group authorization failed."
TOPIC_DENIED: Final = "Topic authorization failed."
CLUSTER_DENIED: Final = "Cluster authorization failed."

NO_CLOSED_TOPICS: Final = ClosedTopics()

_SEES: Final = frozenset({AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS})
"""What changes nothing: groups of kproxy's own stand in lists, and tools describe all that these name."""

GROUP_OPERATIONS: Final = (
    AclOperation.READ,
    AclOperation.DELETE,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
)
"""What can be done to a group (`AclEntry.supportedOperations`)."""


class Permissions(Protocol):
    """What one principal may do from one host."""

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Tell whether it may do `operation` on the resource called `name`."""
        ...


class Authorizer(Protocol):
    """The authorizer of the backing cluster, as far as kproxy knows it."""

    @property
    def problem(self) -> str:
        """Why it cannot be told what anybody may do, and what to do about it; empty while it can."""
        ...

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        """Return what `principal` may do from `client_host` (`RequestContext.client_host`) at this moment.

        The same object comes back until something may have changed. It is `ASK_BROKER` where the client's own broker
        has to be asked instead.

        Raises:
            CoordinatorNotAvailable: that cannot be told.
        """
        ...

    async def wait_until_known(self) -> None:
        """Return when `permissions_of` can tell, at once if it ever could, or after a bounded while all the same."""
        ...


class AllPermissions:
    """The `Permissions` of everybody where there is no authorizer."""

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Allow it."""
        del operation, resource_type, name
        return True


class NoPermissions:
    """The `Permissions` of somebody of whom nobody knows who it is."""

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Deny it."""
        del operation, resource_type, name
        return False


class OwnPermissions:
    """The `Permissions` of a process of the fleet that asks for itself: to see what others serve, and nothing else."""

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Allow it to describe."""
        del resource_type, name
        return operation == AclOperation.DESCRIBE


EVERYTHING: Final = AllPermissions()
NOTHING: Final = NoPermissions()
OWN: Final = OwnPermissions()


class AllowAll:
    """An `Authorizer` for clusters that have none."""

    problem = ""

    def permissions_of(self, principal: Principal, client_host: str) -> Permissions:
        """Return everything."""
        del principal, client_host
        return EVERYTHING

    async def wait_until_known(self) -> None:
        """Return at once."""


ALLOW_ALL: Final = AllowAll()


class Authorization:
    """What the served APIs ask of `authorizer` about a request; `metadata` name its topics.

    Topics and groups that are `closed` to clients are as those to which nobody has any right. Everything here raises
    CoordinatorNotAvailable when it cannot be told what the sender may do.
    """

    __slots__ = ("_authorizer", "_closed", "_metadata")

    def __init__(
        self, authorizer: Authorizer, metadata: ClusterMetadata, closed: ClosedTopics = NO_CLOSED_TOPICS
    ) -> None:
        self._authorizer = authorizer
        self._metadata = metadata
        self._closed = closed

    def of(self, context: RequestContext) -> Permissions:
        """Return what the sender of a request may do at this moment; no list is about another process of the fleet."""
        if context.principal.kind == KPROXY.kind:  # to compare all of it takes five times as long
            return OWN
        permissions = self._authorizer.permissions_of(context.principal, context.client_host)
        if permissions is ASK_BROKER and context.rights is not None:
            return context.rights
        return permissions

    async def learn(
        self,
        context: RequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
        names: Callable[[], Iterable[str]],
        on_asking: Callable[[], None] = go_on_asking,
    ) -> None:
        """Ask for what is going to be checked, where the sender's own broker has to be asked; else return at once.

        To be called before the checks, and again after a long wait. Raises nothing: the checks say what is not known.
        `on_asking` is called before each wait for the broker, which may be long.
        """
        rights = context.rights
        if rights is None:
            return
        try:
            if self.of(context) is not rights:
                return
        except CoordinatorNotAvailable:
            return
        await rights.learn(operation, resource_type, tuple(dict.fromkeys(names())), on_asking)

    async def learn_group(
        self,
        context: RequestContext,
        operation: AclOperation,
        group_id: str,
        on_asking: Callable[[], None] = go_on_asking,
    ) -> None:
        """Do as `learn`, for one group."""
        await self.learn(context, operation, ResourceType.GROUP, lambda: (group_id,), on_asking)

    async def learn_cluster(self, context: RequestContext, operation: AclOperation) -> None:
        """Do as `learn`, for the cluster."""
        await self.learn(context, operation, ResourceType.CLUSTER, lambda: (CLUSTER_NAME,))

    def require_group(self, context: RequestContext, operation: AclOperation, group_id: str) -> None:
        """Return if the sender may do `operation` on a group. Raises GroupAuthorizationFailed."""
        if not self.allows_group(context, operation, group_id):
            raise GroupAuthorizationFailed(GROUP_DENIED)

    def require_topics(self, context: RequestContext, operation: AclOperation, names: Iterable[str]) -> None:
        """Return if the sender may do `operation` on all these topics. Raises TopicAuthorizationFailed."""
        permissions, closed = self.of(context), self._closed.names
        if not all(
            name not in closed and permissions.allows(operation, ResourceType.TOPIC, name) for name in names
        ):
            raise TopicAuthorizationFailed(TOPIC_DENIED)

    def require_cluster(self, context: RequestContext, operation: AclOperation) -> None:
        """Return if the sender may do `operation` on the cluster. Raises ClusterAuthorizationFailed."""
        if not self.of(context).allows(operation, ResourceType.CLUSTER, CLUSTER_NAME):
            raise ClusterAuthorizationFailed(CLUSTER_DENIED)

    def allows_group(self, context: RequestContext, operation: AclOperation, group_id: str) -> bool:
        """Tell whether the sender may do `operation` on a group."""
        may_do = self.of(context).allows(operation, ResourceType.GROUP, group_id)
        return may_do and (operation in _SEES or not self.is_closed_group(group_id))

    def is_closed_group(self, group_id: str) -> bool:
        """Tell whether it is a group of kproxy's own, whoever asks."""
        return group_id in self._closed.groups

    def allows_topic(self, context: RequestContext, operation: AclOperation, name: str) -> bool:
        """Tell whether the sender may do `operation` on a topic."""
        may_do = self.of(context).allows(operation, ResourceType.TOPIC, name)
        return may_do and name not in self._closed.names

    async def readable_topics(
        self, context: RequestContext, topic_ids: Callable[[], Iterable[TopicId]], group_id: str | None = None
    ) -> "ReadableTopics":
        """Return which of `topic_ids` the sender may read, of those that the cluster has as far as it can be asked.

        With `group_id` it is for that group, which the sender has to be allowed to read as well.
        """

        def permissions() -> Permissions:
            return self.of(context)

        if permissions() is EVERYTHING:
            return ReadableTopics(permissions, {}, self._closed, group_id)
        try:
            found = await self._metadata.topics_with_ids(set(topic_ids()))
        except BrokerUnavailable:
            found = {}
        names = {topic_id: topic.name for topic_id, topic in found.items()}

        async def renew(on_asking: Callable[[], None]) -> None:
            if group_id is not None:
                await self.learn_group(context, AclOperation.READ, group_id, on_asking)
            await self.learn(context, AclOperation.READ, ResourceType.TOPIC, names.values, on_asking)

        await renew(go_on_asking)
        return ReadableTopics(permissions, names, self._closed, group_id, renew)

    def group_operations(self, context: RequestContext, group_id: str) -> int:
        """Return what the sender may do to a group, a bit for each operation by its number."""
        permissions = self.of(context)
        return sum(
            1 << operation
            for operation in GROUP_OPERATIONS
            if permissions.allows(operation, ResourceType.GROUP, group_id)
        )


async def _nothing_to_renew(on_asking: Callable[[], None]) -> None:
    """Return: nobody has to be asked."""
    del on_asking


class ReadableTopics:
    """Which topics of one request its sender may read, by id, and whether it still may read the group they are for.

    It is asked of each partition before each delivery. `permissions` are those of the sender at the moment, and raise
    CoordinatorNotAvailable as everything here does then. Where everybody may do everything that costs a look-up. A
    topic that has no name in `names` is not readable, nor is one that is `closed`.
    """

    __slots__ = ("_closed", "_group_id", "_names", "_permissions", "renew")

    def __init__(
        self,
        permissions: Callable[[], Permissions],
        names: Mapping[TopicId, str],
        closed: ClosedTopics = NO_CLOSED_TOPICS,
        group_id: str | None = None,
        renew: Callable[[Callable[[], None]], Awaitable[None]] = _nothing_to_renew,
    ) -> None:
        self._group_id = group_id
        self._permissions = permissions
        self._names = names
        self._closed = closed
        self.renew = renew
        """To be called after a long wait: asks again where `permissions` come from a broker that has to be asked.

        What it is given is called before each wait for that, which may take long: nobody else should have to wait, too.
        """

    @property
    def is_everything(self) -> bool:
        """Whether nothing is forbidden to anybody but what is closed to all."""
        return self._permissions() is EVERYTHING

    def may_read_group(self) -> bool:
        """Tell whether records may be delivered to the group now, if one was named."""
        group_id, permissions = self._group_id, self._permissions()
        if group_id is None or permissions is EVERYTHING:
            return True
        return permissions.allows(AclOperation.READ, ResourceType.GROUP, group_id)

    def may_read(self, topic_id: TopicId) -> bool:
        """Tell whether its records may be delivered now."""
        if topic_id in self._closed.ids:
            return False
        permissions = self._permissions()
        if permissions is EVERYTHING:
            return True
        name = self._names.get(topic_id)
        return name is not None and permissions.allows(AclOperation.READ, ResourceType.TOPIC, name)

    def denied(self, topic_ids: Iterable[TopicId]) -> Collection[TopicId]:
        """Return those that there are and that must not be read."""
        closed = self._closed.ids
        if self.is_everything:
            return {each for each in topic_ids if each in closed} if closed else ()
        return {
            each
            for each in set(topic_ids)
            if each in closed or (each in self._names and not self.may_read(each))
        }


ALL_READABLE: Final = ReadableTopics(lambda: EVERYTHING, {})
