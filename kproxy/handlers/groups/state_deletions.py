"""The durable state of whole topics of a group is deleted, in steps that a crash may interrupt.

1. The group says durably that the state is being deleted. 2. The state is deleted. 3. The group forgets the topic.
What is interrupted in between is found in the group, and goes on from step 2, whoever began it. Until then nobody is
assigned anything of the topic, so it is told at once (`on_interrupted`).

Source: `GroupMetadataManager.sharePartitionsEligibleForOffsetDeletion`, `completeDeleteShareGroupOffsets`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.live.pauses import MOST_AT_FIRST, let_others_go_on
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.ports import StateLog
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.share.share_group import ShareGroup

_AT_ONCE: Final = 5_000
"""So many states are deleted before others have a turn: some 20 ms."""


class StateDeletions:
    """Deletes what a group has of topics, and lets go of what is live of them."""

    __slots__ = ("_coordinator", "_directory", "_state_log", "_writes", "on_interrupted")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        directory: SharePartitionDirectory,
        writes: GroupWrites,
        state_log: StateLog,
    ) -> None:
        self.on_interrupted: Callable[[], None] = lambda: None
        """Called when something of a deletion is left to do; it must not raise."""
        self._coordinator = coordinator
        self._directory = directory
        self._writes = writes
        self._state_log = state_log

    async def delete(
        self, group: ShareGroup, topic_ids: Collection[TopicId]
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Delete the state of these topics, as far as the group has any; return the share-partitions that failed.

        A topic with one of those goes on being deleted.

        Raises:
            CoordinatorLoadInProgress: share-partitions of the topics are being initialized: nothing happened.
            ApiError: what the group was to say, or the group itself, is in doubt, or on its way out.
        """
        _require_kept(group)
        _require_initialized(group, topic_ids)
        is_done = False
        try:
            failures = await self._delete_all(group, topic_ids)
            is_done = not failures
        finally:
            if not is_done:
                self.on_interrupted()
        return failures

    async def _delete_all(
        self, group: ShareGroup, topic_ids: Collection[TopicId]
    ) -> Mapping[SharePartitionKey, ApiError]:
        group_id = group.group_id
        group.delete_topics(topic_ids)
        write = self._writes.begin(group_id)
        await write.settle()
        deletions = group.topics.state_partitions.deletions_of(topic_ids)
        failures: dict[SharePartitionKey, ApiError] = {}
        keys = _deleting_keys(group, topic_ids)
        while some := tuple(islice(keys, _AT_ONCE)):
            if len(some) > MOST_AT_FIRST:  # several groups may have become durable in this turn
                await let_others_go_on()
                write.require_current()
            # What somebody else finished meanwhile may have begun anew, and is not to be touched, here and below.
            left = _going_on(group, deletions)
            failures.update(
                await self._delete(group, [key for key in some if key.topic_id in left], deletions)
            )
            await let_others_go_on()
            write.require_current()
        _require_kept(group)
        done = _going_on(group, deletions) - {key.topic_id for key in failures}
        self._coordinator.topics_deleted(group_id, done)
        await self._writes.begin(group_id).settle()
        return failures

    async def _delete(
        self, group: ShareGroup, keys: Collection[SharePartitionKey], deletions: Mapping[TopicId, int]
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Delete these states, with what is live of them then and, unless it began anew, afterwards."""
        try:
            self._discard(keys)
            return await self._state_log.delete(keys)
        finally:
            left = _going_on(group, deletions)
            self._discard([key for key in keys if key.topic_id in left])

    def _discard(self, keys: Collection[SharePartitionKey]) -> None:
        for key in keys:
            self._directory.discard(key)


def _going_on(group: ShareGroup, deletions: Mapping[TopicId, int]) -> frozenset[TopicId]:
    """Return the topics of which these deletions are not over."""
    now = group.topics.state_partitions.deletions_of(deletions)
    return frozenset(topic_id for topic_id, deletion in deletions.items() if now.get(topic_id) == deletion)


def _require_kept(group: ShareGroup) -> None:
    """Raise CoordinatorNotAvailable if the group is on its way out: what is written now would come back to life."""
    if group.is_being_deleted:
        raise CoordinatorNotAvailable(f"group {group.group_id!r} is being deleted")


def _require_initialized(group: ShareGroup, topic_ids: Collection[TopicId]) -> None:
    """Raise CoordinatorLoadInProgress if somebody is about to initialize a state: it would come after its deletion."""
    if group.topics.state_partitions.is_under_way_of(frozenset(topic_ids)):
        raise CoordinatorLoadInProgress(f"share-partitions of group {group.group_id!r} are being initialized")


def _deleting_keys(group: ShareGroup, topic_ids: Collection[TopicId]) -> Iterator[SharePartitionKey]:
    """Yield what is being deleted of these topics when the first one is asked for."""
    deleting = group.image().deleting
    for topic_id in topic_ids:
        if topic_id in deleting:
            for number in sorted(deleting[topic_id].partitions):
                yield SharePartitionKey(group.group_id, topic_id, number)
