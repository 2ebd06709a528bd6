"""Memory for large answers of brokers, used again instead of given back.

Fresh memory is paid for twice, by the kernel that maps and clears its pages and by the processor that has none of
it in its caches: a sixth of what it costs to pass records of 10 KB on to several members.
"""

import asyncio
from collections.abc import Callable
from typing import Final

SMALLEST_BYTES: Final = 128 * 1024
"""Smaller ones are cheap to come by."""

MOST_BYTES: Final = 32 * 1024 * 1024
MOST_BUFFERS: Final = 16
"""How much is kept at most, whether it is in use or not. What is needed beyond that is given back after use."""

UNUSED_SECONDS: Final = 30.0
"""How long a buffer is kept without being used, at least; at most twice as long."""

_CLASSES_PER_DOUBLING: Final = 4
_MOST_OVERSIZE: Final = 2


class _Buffer:
    __slots__ = ("memory", "was_used")

    def __init__(self, size_bytes: int) -> None:
        self.memory = bytearray(size_bytes)
        self.was_used = True

    def is_free(self) -> bool:
        """Whether nobody has a view of it: only then does Python let its size be changed."""
        try:
            self.memory.pop()
        except BufferError:
            return False
        self.memory.append(0)
        return True


class ReadBuffers:
    """Lends memory. Nobody gives any back: it is free when the last view of it, or of a part of it, is gone.

    What is kept is bounded by `most_bytes` and by `MOST_BUFFERS`, and is dropped once it has not been used for a while.
    """

    __slots__ = ("_buffers", "_call_later", "_is_looked_after", "_most_bytes")

    def __init__(
        self,
        *,
        most_bytes: int = MOST_BYTES,
        call_later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        """`call_later` takes seconds, as the event loop's, which is the one that is used by default."""
        self._most_bytes = most_bytes
        self._call_later = call_later
        self._buffers: list[_Buffer] = []
        self._is_looked_after = False

    @property
    def kept_bytes(self) -> int:
        """How much is kept, in use or not."""
        return _total_bytes(self._buffers)

    def take(self, size_bytes: int) -> memoryview:
        """Return `size_bytes` of memory that nobody else sees, with anything in it."""
        if size_bytes < SMALLEST_BYTES:
            return memoryview(bytearray(size_bytes))
        buffer = self._used_before(size_bytes) or self._made(size_bytes)
        return memoryview(buffer.memory)[:size_bytes]

    def drop_unused(self) -> None:
        """Drop what was not taken since the last call, and is free."""
        self._buffers = [each for each in self._buffers if each.was_used or not each.is_free()]
        for buffer in self._buffers:
            buffer.was_used = False

    def _used_before(self, size_bytes: int) -> _Buffer | None:
        """Return the free buffer of a fitting size that was taken last: it is the likeliest to be in the caches."""
        for position, buffer in enumerate(self._buffers):
            if size_bytes <= len(buffer.memory) <= _MOST_OVERSIZE * size_bytes and buffer.is_free():
                self._buffers.insert(0, self._buffers.pop(position))
                buffer.was_used = True
                return buffer
        return None

    def _made(self, size_bytes: int) -> _Buffer:
        """Return a new buffer, which is kept if there is room beside those that are in use."""
        buffer = _Buffer(_rounded_up(size_bytes))
        kept = [buffer, *self._buffers]
        while not self._have_room(kept):
            free = next((each for each in reversed(kept[1:]) if each.is_free()), None)
            if free is None:
                return buffer
            kept.remove(free)
        self._buffers = kept
        self._look_after()
        return buffer

    def _have_room(self, buffers: list[_Buffer]) -> bool:
        return len(buffers) <= MOST_BUFFERS and _total_bytes(buffers) <= self._most_bytes

    def _look_after(self) -> None:
        if not self._is_looked_after:
            self._is_looked_after = True
            call_later = self._call_later or asyncio.get_running_loop().call_later
            call_later(UNUSED_SECONDS, self._look_through)

    def _look_through(self) -> None:
        self.drop_unused()
        self._is_looked_after = False
        if self._buffers:
            self._look_after()


def _rounded_up(size_bytes: int) -> int:
    """Return one of few sizes, so that answers of nearly the same size can use the same memory."""
    step = (1 << size_bytes.bit_length() - 1) // _CLASSES_PER_DOUBLING
    return -(-size_bytes // step) * step


def _total_bytes(buffers: list[_Buffer]) -> int:
    return sum(len(buffer.memory) for buffer in buffers)
