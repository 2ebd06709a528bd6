"""The durable state of whole topics of a group is deleted, in steps that a crash may interrupt.

1. The group says durably that the state is being deleted. 2. The state is deleted. 3. The group forgets the topic.
What is interrupted in between is found in the group, and goes on from step 2, whoever began it.

Source: `GroupMetadataManager.sharePartitionsEligibleForOffsetDeletion`, `completeDeleteShareGroupOffsets`.
"""

from collections.abc import Collection, Mapping, Sequence

from kproxy.errors import ApiError, CoordinatorLoadInProgress, CoordinatorNotAvailable
from kproxy.handlers.groups.group_writes import GroupWrites
from kproxy.handlers.live.share_partitions import SharePartitionDirectory
from kproxy.handlers.ports import StateLog
from kproxy.share.group_coordinator import GroupCoordinator
from kproxy.share.identifiers import SharePartitionKey, TopicId
from kproxy.share.share_group import ShareGroup


class StateDeletions:
    """Deletes what a group has of topics, and lets go of what is live of them."""

    __slots__ = ("_coordinator", "_directory", "_state_log", "_writes")

    def __init__(
        self,
        coordinator: GroupCoordinator,
        directory: SharePartitionDirectory,
        writes: GroupWrites,
        state_log: StateLog,
    ) -> None:
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
        group_id = group.group_id
        group.delete_topics(topic_ids)
        write = self._writes.begin(group_id)
        await write.settle()
        # What somebody else finished meanwhile may have begun anew, and is not to be touched, here and below.
        keys = _deleting_keys(group, topic_ids)
        deletions = group.topics.state_partitions.deletions_of(topic_ids)
        try:
            self._discard(keys)
            failures = await self._state_log.delete(keys)
        finally:
            going_on = group.topics.state_partitions.deletions_of(topic_ids).items() & deletions.items()
            left = {topic_id for topic_id, _ in going_on}
            self._discard([key for key in keys if key.topic_id in left])
        write.require_current()
        _require_kept(group)
        self._coordinator.topics_deleted(group_id, left - {key.topic_id for key in failures})
        await self._writes.begin(group_id).settle()
        return failures

    def _discard(self, keys: Sequence[SharePartitionKey]) -> None:
        for key in keys:
            self._directory.discard(key)


def _require_kept(group: ShareGroup) -> None:
    """Raise CoordinatorNotAvailable if the group is on its way out: what is written now would come back to life."""
    if group.is_being_deleted:
        raise CoordinatorNotAvailable(f"group {group.group_id!r} is being deleted")


def _require_initialized(group: ShareGroup, topic_ids: Collection[TopicId]) -> None:
    """Raise CoordinatorLoadInProgress if somebody is about to initialize a state: it would come after its deletion."""
    if group.topics.state_partitions.is_under_way_of(frozenset(topic_ids)):
        raise CoordinatorLoadInProgress(f"share-partitions of group {group.group_id!r} are being initialized")


def _deleting_keys(group: ShareGroup, topic_ids: Collection[TopicId]) -> Sequence[SharePartitionKey]:
    deleting = group.image().deleting
    return [
        SharePartitionKey(group.group_id, topic_id, number)
        for topic_id in topic_ids
        if topic_id in deleting
        for number in sorted(deleting[topic_id].partitions)
    ]
