"""Keys that name no share-partition: what one fetch sleeps on, it alone, so that it alone can be woken."""

from itertools import count
from typing import Final

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId

_NUMBERS: Final = count(1)


def wake_key() -> SharePartitionKey:
    """Return a key that was never returned before, and that no share-partition has: its partition is negative."""
    return SharePartitionKey(GroupId(""), TopicId(bytes(16)), -next(_NUMBERS))
