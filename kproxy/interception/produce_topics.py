"""Which topics a Produce request names: told at once of a whole one, and while its bytes pass, in whatever pieces.

Between two names lie records, which are stepped over by their length and never looked at.
Layout: header; transactional id from version 3 on; acks, timeout; topics, each with its name, from version 13 on its id
instead, and partitions of an index and records. Flexible from version 9 on.
"""

from collections.abc import Collection, Generator
from typing import Final

from kproxy.wire.request_prefixes import (
    after_compact_string,
    after_header,
    after_string,
    after_tags,
    after_varint,
)

_FIRST_WITH_TRANSACTIONAL_ID: Final = 3
_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_TOPIC_IDS: Final = 13
_LONGEST_NAME: Final = 249
"""No topic has a longer one."""

_LENGTH_TO_CORRELATION_ID_BYTES: Final = 12
_ACKS_AND_TIMEOUT_BYTES: Final = 6
_INDEX_BYTES: Final = 4
_TOPIC_ID_BYTES: Final = 16
_NEVER: Final = 1 << 62

_Steps = Generator[int, bytes, bool]
"""Yields how many bytes to hand over next, or as a negative number to step over. Returns whether one was found."""


def names_any(frame: memoryview, api_version: int, wanted: Collection[bytes]) -> bool:
    """Tell whether a whole `frame`, which begins with its length, names a topic whose name or id is `wanted`.

    Raises:
        IndexError: it is cut off.
        PeerViolation: it has more tags than any client sends.
    """
    is_flexible = api_version >= _FIRST_FLEXIBLE
    position = after_header(frame, is_flexible=is_flexible)
    if is_flexible:
        position = after_compact_string(frame, position)
    elif api_version >= _FIRST_WITH_TRANSACTIONAL_ID:
        position = after_string(frame, position)
    count, position = _count_at(frame, position + _ACKS_AND_TIMEOUT_BYTES, is_flexible=is_flexible)
    for _ in range(count):
        begin = position
        if api_version >= _FIRST_WITH_TOPIC_IDS:
            position += _TOPIC_ID_BYTES
        elif is_flexible:
            length, begin = after_varint(frame, position)
            position = begin + max(length - 1, 0)
        else:
            begin, position = position + 2, after_string(frame, position)
        if bytes(frame[begin:position]) in wanted:
            return True
        position = _after_partitions(frame, position, is_flexible=is_flexible)
    return False


def _after_partitions(frame: memoryview, position: int, *, is_flexible: bool) -> int:
    count, position = _count_at(frame, position, is_flexible=is_flexible)
    for _ in range(count):
        size, position = _count_at(frame, position + _INDEX_BYTES, is_flexible=is_flexible)
        position += max(size, 0)
        if is_flexible:
            position = after_tags(frame, position)
    return after_tags(frame, position) if is_flexible else position


def _count_at(frame: memoryview, position: int, *, is_flexible: bool) -> tuple[int, int]:
    """Return a count of elements, or of the bytes of records, and what follows. Raises IndexError."""
    if is_flexible:
        count_and_one, position = after_varint(frame, position)
        return count_and_one - 1, position
    end = position + 4
    if end > len(frame):
        raise IndexError(end)
    return int.from_bytes(frame[position:end], "big", signed=True), end


class ProduceTopics:
    """Looks for topics whose names, or ids, are among `wanted`; begins with the length of the frame."""

    __slots__ = ("_came", "_need", "_skip", "_steps", "has_found")

    def __init__(self, api_version: int, wanted: Collection[bytes]) -> None:
        self.has_found = False
        """Whether one of them was named."""
        self._steps = _steps(api_version, wanted)
        self._came = bytearray()
        self._need = self._skip = 0
        self._note(next(self._steps))

    def passes(self, size: int) -> bool:
        """Tell whether nothing is named in the next `size` bytes; if so, they count as fed."""
        if size > self._skip:
            return False
        self._skip -= size
        return True

    def feed(self, data: bytes | memoryview) -> bool:
        """Take the next bytes of the frame, and tell whether one of the topics was named by now."""
        position, size = 0, len(data)
        if size <= self._skip:
            self._skip -= size
            return self.has_found
        while position < size and not self.has_found:
            if self._skip:
                step = min(self._skip, size - position)
                self._skip -= step
                position += step
                continue
            more = data[position : position + self._need - len(self._came)]
            self._came += more
            position += len(more)
            if len(self._came) == self._need:
                self._go_on()
        return self.has_found

    def _go_on(self) -> None:
        came = bytes(self._came)
        self._came.clear()
        try:
            self._note(self._steps.send(came))
        except StopIteration as end:
            self.has_found = end.value
            self._skip = _NEVER

    def _note(self, step: int) -> None:
        # Nothing has to be stepped over after a step: steps come one by one.
        while step < 0:
            self._skip -= step
            try:
                step = next(self._steps)
            except StopIteration as end:
                self.has_found = end.value
                self._skip = _NEVER
                return
        self._need = step


def _steps(api_version: int, wanted: Collection[bytes]) -> _Steps:
    is_flexible = api_version >= _FIRST_FLEXIBLE
    yield -_LENGTH_TO_CORRELATION_ID_BYTES
    yield from _over(int.from_bytes((yield 2), "big", signed=True))
    if is_flexible:
        yield from _tags()
    if api_version >= _FIRST_WITH_TRANSACTIONAL_ID:
        yield from _over((yield from _string_length(is_flexible=is_flexible)))
    yield -_ACKS_AND_TIMEOUT_BYTES
    for _ in range((yield from _count(is_flexible=is_flexible))):
        if (yield from _is_wanted(api_version, wanted)):
            return True
        for _ in range((yield from _count(is_flexible=is_flexible))):
            yield -_INDEX_BYTES
            yield from _over((yield from _count(is_flexible=is_flexible)))
            if is_flexible:
                yield from _tags()
        if is_flexible:
            yield from _tags()
    return False


def _is_wanted(api_version: int, wanted: Collection[bytes]) -> _Steps:
    if api_version >= _FIRST_WITH_TOPIC_IDS:
        return (yield _TOPIC_ID_BYTES) in wanted
    length = yield from _string_length(is_flexible=api_version >= _FIRST_FLEXIBLE)
    if 0 < length <= _LONGEST_NAME:
        return (yield length) in wanted
    yield from _over(length)
    return False


def _over(length: int) -> Generator[int, bytes, None]:
    if length > 0:
        yield -length


def _string_length(*, is_flexible: bool) -> Generator[int, bytes, int]:
    if is_flexible:
        return (yield from _varint()) - 1
    return int.from_bytes((yield 2), "big", signed=True)


def _count(*, is_flexible: bool) -> Generator[int, bytes, int]:
    """Of an array's elements, or of the bytes of records."""
    if is_flexible:
        return (yield from _varint()) - 1
    return int.from_bytes((yield 4), "big", signed=True)


def _varint() -> Generator[int, bytes, int]:
    value = 0
    for shift in range(0, 35, 7):
        (byte,) = yield 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    return value


def _tags() -> Generator[int, bytes, None]:
    for _ in range((yield from _varint())):
        yield from _varint()
        yield from _over((yield from _varint()))
