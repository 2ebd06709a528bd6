"""When the locks of live share-partitions end, the first of them first."""

from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from kproxy.share.identifiers import SharePartitionKey

_MOST_VOID_DEADLINES: Final = 64
"""So many ends of locks may stand in the heap that are none any more, or as many as there are others."""


class LockDeadlines:
    """For each share-partition a moment no later than the first end of its locks, once it was noted."""

    __slots__ = ("_heap", "_noted_ms", "_numbers")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, SharePartitionKey]] = []
        self._noted_ms: dict[SharePartitionKey, int] = {}
        self._numbers = count()

    def note(self, key: SharePartitionKey, deadline_ms: int) -> bool:
        """Note that a lock of `key` ends at `deadline_ms` (Clock); tell whether that is earlier than was noted."""
        noted_ms = self._noted_ms.get(key)
        if noted_ms is not None and deadline_ms >= noted_ms:
            return False
        self._noted_ms[key] = deadline_ms
        heappush(self._heap, (deadline_ms, next(self._numbers), key))
        self._forget_void()
        return True

    def forget(self, key: SharePartitionKey) -> None:
        """Note that `key` has no locks, or is not live any more."""
        self._noted_ms.pop(key, None)

    def take_due(self, now_ms: int) -> SharePartitionKey | None:
        """Return the first share-partition in which a lock may have ended by `now_ms`, and forget it; None without."""
        while self._heap and self._heap[0][0] <= now_ms:
            deadline_ms, _, key = heappop(self._heap)
            if self._noted_ms.get(key) == deadline_ms:
                del self._noted_ms[key]
                return key
        return None

    def next_ms(self) -> int | None:
        """Return a moment no later than the first end of a lock (maybe earlier), None without locks."""
        while self._heap:
            deadline_ms, _, key = self._heap[0]
            if self._noted_ms.get(key) == deadline_ms:
                return deadline_ms
            heappop(self._heap)
        return None

    def _forget_void(self) -> None:
        """Make the heap anew when most of it is of locks that were settled long before their end."""
        if len(self._heap) > max(_MOST_VOID_DEADLINES, 2 * len(self._noted_ms)):
            self._heap = [(noted_ms, next(self._numbers), key) for key, noted_ms in self._noted_ms.items()]
            heapify(self._heap)
