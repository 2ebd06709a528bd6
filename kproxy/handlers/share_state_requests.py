"""What the five requests to the share coordinator (keys 83 to 87) have in common.

Each names share-partitions of one group and is answered partition by partition; an error of one leaves the others
alone. Source: `ShareCoordinatorService`.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from kproxy.errors import (
    ApiError,
    BrokerUnavailable,
    CoordinatorNotAvailable,
    InvalidRequest,
    UnknownTopicOrPartition,
)
from kproxy.handlers.ports import (
    ClusterMetadata,
    Observer,
    RequestContext,
    ShareStateStore,
    TopicDescription,
)
from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId, topic_id_text

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class ShareStateServices:
    """What the handlers stand on. `on_change` is told of a share-partition whose state is about to be changed.

    Whoever holds it in memory then has to let go of it: what it writes afterwards would rest on what was before.
    """

    store: ShareStateStore
    metadata: ClusterMetadata
    observer: Observer
    on_change: Callable[[SharePartitionKey], None]

    async def answer(
        self,
        key: SharePartitionKey,
        operation: Callable[[SharePartitionKey], Awaitable[Answer]],
        context: RequestContext,
        *,
        needs_state: bool = False,
    ) -> Answer | ApiError:
        """Return what `operation` on the share-partition returns, or why not. Refusals are reported.

        An operation that `needs_state` is told that there is none before it is told that there is no such topic.
        """
        try:
            await self._require_topic_partition(key, needs_state=needs_state)
            return await operation(key)
        except ApiError as refusal:
            self.observer.refused(context, reason=refusal.error_code.name.lower(), detail=str(refusal))
            return refusal

    async def answer_change(
        self,
        key: SharePartitionKey,
        operation: Callable[[SharePartitionKey], Awaitable[None]],
        context: RequestContext,
        *,
        needs_state: bool = False,
    ) -> ApiError | None:
        """Do the same for an `operation` that changes the state, which it queues before it first waits.

        So everything that the live share-partition wrote stands before it, and nothing comes after it.
        """

        async def change(named: SharePartitionKey) -> None:
            self.on_change(named)
            await operation(named)

        return await self.answer(key, change, context, needs_state=needs_state)

    async def _require_topic_partition(self, key: SharePartitionKey, *, needs_state: bool) -> None:
        if key.partition < 0:
            raise InvalidRequest(f"partition {key.partition} of {key.group_id}, expected 0 or higher")
        try:
            topic = await self.metadata.topic_with_id(key.topic_id)
        except BrokerUnavailable as failure:
            raise CoordinatorNotAvailable(f"the cluster cannot be asked about topics: {failure}") from failure
        if topic is not None and key.partition < topic.partition_count:
            return
        if needs_state and await self.store.read_summary(key) is None:
            raise InvalidRequest(f"the state of {key} was never initialized")
        raise UnknownTopicOrPartition(_what_is_missing(key, topic))


def _what_is_missing(key: SharePartitionKey, topic: TopicDescription | None) -> str:
    if topic is None:
        return f"no topic has the id {topic_id_text(key.topic_id)}"
    return f"topic '{topic.name}' has {topic.partition_count} partitions, not number {key.partition}"


def share_partition_key(group_id: str, topic_id: bytes, partition: int) -> SharePartitionKey:
    """Return what a request names."""
    return SharePartitionKey(GroupId(group_id), TopicId(topic_id), partition)
