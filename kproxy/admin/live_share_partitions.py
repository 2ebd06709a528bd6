"""`LiveSharePartitions`: what the admin port needs of the share-partitions in memory."""

from collections.abc import Iterable
from typing import Protocol

from kproxy.share.identifiers import SharePartitionKey
from kproxy.share.share_partition import SharePartition


class LiveSharePartitions(Protocol):
    """The share-partitions in memory: `SharePartitionDirectory`."""

    def keys(self) -> Iterable[SharePartitionKey]:
        """Return the keys of all."""
        ...

    def find(self, key: SharePartitionKey) -> SharePartition | None:
        """Return one of them, None when it is not (any more) in memory."""
        ...
