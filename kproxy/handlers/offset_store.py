"""The port through which administrators look at the durable offsets of share groups, and move them.

Source: `Persister.readSummary` and `Persister.initializeState`, as Kafka's group coordinator calls them.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kproxy.errors import ApiError
from kproxy.share.heartbeat import PartitionInitialization
from kproxy.share.identifiers import SharePartitionKey
from kproxy.statelog.actors import Actor
from kproxy.statelog.durable_state import DurableShareState


class ShareOffsetStore(Protocol):
    """Durable states of share-partitions, whether they are live or not."""

    async def summaries(
        self, keys: Collection[SharePartitionKey]
    ) -> Mapping[SharePartitionKey, DurableShareState | ApiError | None]:
        """Return of each of `keys` its state, None when there is none, or why it cannot be read."""
        ...

    async def move(
        self, moves: Sequence[PartitionInitialization], actor: Actor
    ) -> Mapping[SharePartitionKey, ApiError]:
        """Begin these states anew, all at once; return those that failed, maybe only in doubt.

        Each is moved to its start offset, under its state epoch or one above the stored one, whichever is higher: what
        was written by whoever holds the old one and is queued later is refused. All of it is queued before this first
        waits.
        """
        ...
