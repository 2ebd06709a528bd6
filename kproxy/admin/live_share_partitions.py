"""`LiveSharePartitions`: what the admin port needs of the share-partitions in memory."""

from collections.abc import Iterable
from typing import Protocol

from kproxy.errors import CoordinatorLoadInProgress
from kproxy.share.identifiers import SharePartitionKey, TopicIdPartition
from kproxy.share.share_partition import SharePartition
from kproxy.share.share_session import ShareSession


class LiveSharePartitions(Protocol):
    """The share-partitions in memory: `SharePartitionDirectory`."""

    def keys(self) -> Iterable[SharePartitionKey]:
        """Return the keys of all."""
        ...

    def find(self, key: SharePartitionKey) -> SharePartition | None:
        """Return one of them, None when it is not (any more) in memory."""
        ...

    def why_not_live(self, key: SharePartitionKey) -> str:
        """Return why one that is fetched is not in memory; empty when it is, or nobody tried to load it lately."""
        ...


def require_unfetched(
    key: SharePartitionKey, directory: LiveSharePartitions, sessions: Iterable[ShareSession]
) -> None:
    """Raise CoordinatorLoadInProgress when one of `sessions` has a share-partition that is not in memory."""
    why, place = directory.why_not_live(key), TopicIdPartition(key.topic_id, key.partition)
    if not why and any(each.key.group_id == key.group_id and each.has(place) for each in sessions):
        why = "it is not in memory now, and loaded with the next fetch"
    if why:
        raise CoordinatorLoadInProgress(f"nothing can be changed of {key}: {why}; try again")
