"""Requests that wait behind one that is being answered, as bytes."""

from collections import deque
from typing import Final

_JOINED_BYTES: Final = 1024
"""Chunks up to this size are joined while they wait: as objects of their own they take many times their bytes."""

_MOST_KEPT: Final = 2
"""How many times its own bytes a part of a read may keep in memory, which is not counted. A rest that shrinks from turn
to turn is copied once each time that it is half as long."""


def cut_free(data: bytes | memoryview) -> bytes | memoryview:
    """Return `data`, copied where it keeps much more than its own bytes: a part keeps all of what it was cut from."""
    if isinstance(data, memoryview) and memoryview(data.obj).nbytes > _MOST_KEPT * len(data):
        return bytes(data)
    return data


class RequestBacklog:
    """What came behind a request that is being answered, in order. Every byte is looked at once.

    Most connections never have any, and an empty deque takes 760 bytes: there is one only while something waits.
    """

    __slots__ = ("_chunks", "byte_count")

    def __init__(self) -> None:
        self._chunks: deque[bytes | memoryview | bytearray] | None = None
        self.byte_count = 0

    def append(self, data: bytes | memoryview) -> None:
        """Add what came last."""
        self.byte_count += len(data)
        chunks = self._waiting()
        last = chunks[-1] if chunks else None
        if len(data) > _JOINED_BYTES:
            chunks.append(data)
        elif isinstance(last, bytearray):
            last += data
        else:
            chunks.append(bytearray(data))

    def put_back(self, data: bytes | memoryview) -> None:
        """Add what was taken and is not done with."""
        self.byte_count += len(data)
        self._waiting().appendleft(cut_free(data))

    def take(self) -> bytes | memoryview | None:
        """Return what came first, None when there is nothing."""
        if self._chunks is None:
            return None
        first = self._chunks.popleft()
        if not self._chunks:
            self._chunks = None
        self.byte_count -= len(first)
        return bytes(first) if isinstance(first, bytearray) else first

    def _waiting(self) -> deque[bytes | memoryview | bytearray]:
        if self._chunks is None:
            self._chunks = deque()
        return self._chunks
