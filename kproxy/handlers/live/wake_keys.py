"""Keys that name no share-partition: what one fetch sleeps on, it alone, so that it alone can be woken."""

from typing import Final

from kproxy.share.identifiers import GroupId, SharePartitionKey, TopicId

_NOBODY: Final = (GroupId(""), TopicId(b""), -1)


class WakeKey(SharePartitionKey):
    """A key that equals nothing but itself: whatever a client writes, it names another one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


def wake_key() -> WakeKey:
    """Return a key of its own, which no share-partition has."""
    return WakeKey._make(_NOBODY)
