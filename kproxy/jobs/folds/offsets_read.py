"""The offsets of a log partition that were read: holes between them, and whether a given one was read."""

from array import array
from bisect import bisect_right


class OffsetsRead:
    """The offsets that were read, in ascending order. Memory grows with the number of holes between them."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self) -> None:
        self._firsts = array("q")
        self._lasts = array("q")

    def take(self, offset: int) -> range:
        """Note the next offset; return the missing ones between it and the one before."""
        if not self._firsts:
            expected = offset
            self._begin(offset)
        else:
            expected = self._lasts[-1] + 1
            if offset == expected:
                self._lasts[-1] = offset
            else:
                self._begin(offset)
        return range(expected, offset)

    def holds(self, offset: int) -> bool:
        """Return whether this offset was read."""
        at = bisect_right(self._firsts, offset) - 1
        return at >= 0 and offset <= self._lasts[at]

    def _begin(self, offset: int) -> None:
        self._firsts.append(offset)
        self._lasts.append(offset)
