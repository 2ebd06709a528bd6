"""NodeEndpoints in responses that are not held, neutralised while the response streams through.

KIP-951 put the addresses of new leaders at the end of responses of Fetch 16 and Produce 10 and above, as tagged field 0
of the response itself. A relay that holds no records cannot replace them, because that would change the length of a
frame whose head has left already. But it can rename the field: the tag becomes a number that no client knows, and
clients skip what they do not know. They lose a hint and ask for metadata instead, as with older versions.
"""

import sys
from collections.abc import Generator
from typing import Final

from kproxy.errors import PeerViolation
from kproxy.wire.api_keys import ApiKey
from kproxy.wording import counted

FIRST_FETCH_VERSION: Final = 16
_FIRST_PRODUCE_WITH_TOPIC_IDS: Final = 13
UNKNOWN_TAG: Final = 0x7F
"""What tag 0 becomes: the highest number of one byte. Kafka 4.4 has no tag above 0 in either response."""

_NEXT_BYTE: Final = -1
_RENAME_BYTE: Final = -2
_MAX_VARINT_BYTES: Final = 5
_LARGEST_VARINT: Final = 2**31 - 1
"""What is larger, clients of Kafka read as a negative number, or without its highest bits."""

_Walk = Generator[int, int, None]
"""Yields how many bytes to skip, or _NEXT_BYTE and is sent that byte, or _RENAME_BYTE to replace it."""


class EndpointsWalk:
    """One response of Fetch or Produce on its way through, from behind its length.

    Args:
        frame_bytes: the length of the frame, its four length bytes not counted.
        api_key: FETCH or PRODUCE.
        api_version: a version whose responses may have endpoints.
    """

    __slots__ = ("_is_done", "_walk", "_want", "bytes_left", "step_count")

    def __init__(self, frame_bytes: int, api_key: int, api_version: int) -> None:
        self.bytes_left = frame_bytes
        """How many bytes of the frame have yet to come."""
        self._walk = _produce_response(api_version) if api_key == ApiKey.PRODUCE else _fetch_response()
        self._want = next(self._walk)
        self._is_done = False
        self.step_count = 0
        """How many fields and bytes the last `take` looked at: a third of a microsecond each."""

    def take(
        self, data: memoryview, most_steps: int = sys.maxsize
    ) -> tuple[list[memoryview | bytes], memoryview]:
        """Return the beginning of `data`, which is the next part of this frame, with the tag renamed if it is in there.

        Beside it what is left of `data` behind `most_steps`: nothing, where that goes to its end.

        Raises:
            PeerViolation: the frame ends before the response does, or goes on after it.
        """
        assert self.bytes_left >= len(data), "no byte of the next frame"
        self.step_count = 0
        end, renamed = self._advance_over(data, most_steps)
        self.bytes_left -= end
        if self.bytes_left == 0 and not self._is_done:
            raise PeerViolation("malformed_response", "a response ends in the middle of a field")
        return _with_unknown_tags(data[:end], renamed), data[end:]

    def passes(self, size: int) -> bool:
        """Tell whether the next `size` bytes lie inside one field that is skipped; if so, they count as taken."""
        if size >= self._want or size >= self.bytes_left:
            return False
        self._want -= size
        self.bytes_left -= size
        return True

    def _advance_over(self, data: memoryview, most_steps: int) -> tuple[int, list[int]]:
        """Return how far this came in `data`, and where a tag is renamed: nowhere or once, in what brokers send."""
        renamed: list[int] = []
        position, size = 0, len(data)
        while not self._is_done and (self.step_count < most_steps or self._want == _RENAME_BYTE):
            if self._want == _RENAME_BYTE:
                # The byte before this position: the walk has just been sent it.
                renamed.append(position - 1)
                self._send(0)
            elif self._want > size - position:
                self._want -= size - position
                return size, renamed
            elif self._want >= 0:
                position += self._want
                self._send(0)
            elif position == size:
                return size, renamed
            else:
                position += 1
                self._send(data[position - 1])
        if self._is_done and position < size:
            raise PeerViolation(
                "malformed_response", f"{counted(size - position, 'byte')} behind the end of a response"
            )
        return position, renamed

    def _send(self, byte: int) -> None:
        self.step_count += 1
        try:
            self._want = self._walk.send(byte)
        except StopIteration:
            self._is_done, self._want = True, _NEXT_BYTE


def _with_unknown_tags(data: memoryview, positions: list[int]) -> list[memoryview | bytes]:
    parts: list[memoryview | bytes] = []
    start = 0
    for position in positions:
        parts += [data[start:position], bytes([UNKNOWN_TAG])]
        start = position + 1
    return [part for part in (*parts, data[start:]) if part]


def _fetch_response() -> _Walk:
    """Walk over FetchResponse.json, versions 16 to 18, behind the correlation id; nothing is kept."""
    yield 4  # correlation id
    yield from _tags()
    yield 4 + 2 + 4  # throttle time, error code, session id
    for _ in range((yield from _count())):
        yield 16  # topic id
        for _ in range((yield from _count())):
            yield from _fetched_partition()
        yield from _tags()
    yield from _tags(renames_endpoints=True)


def _fetched_partition() -> _Walk:
    yield 4 + 2 + 8 + 8 + 8  # index, error code, high watermark, last stable offset, log start offset
    for _ in range((yield from _count())):
        yield 8 + 8  # an aborted transaction: producer id, first offset
        yield from _tags()
    yield 4  # preferred read replica
    yield (yield from _count())  # records
    yield from _tags()


def _produce_response(api_version: int) -> _Walk:
    """Walk over ProduceResponse.json, versions 10 to 13, behind the correlation id; nothing is kept."""
    yield 4  # correlation id
    yield from _tags()
    for _ in range((yield from _count())):
        if api_version >= _FIRST_PRODUCE_WITH_TOPIC_IDS:
            yield 16  # topic id
        else:
            yield (yield from _count())  # name
        for _ in range((yield from _count())):
            yield from _produced_partition()
        yield from _tags()
    yield 4  # throttle time
    yield from _tags(renames_endpoints=True)


def _produced_partition() -> _Walk:
    yield 4 + 2 + 8 + 8 + 8  # index, error code, base offset, log append time, log start offset
    for _ in range((yield from _count())):
        yield 4  # a refused record: its place in the batch
        yield (yield from _count())  # message
        yield from _tags()
    yield (yield from _count())  # message
    yield from _tags()


def _tags(*, renames_endpoints: bool = False) -> _Walk:
    for _ in range((yield from _varint())):
        tag = yield from _varint(renames_zero=renames_endpoints)
        if tag == 0 and renames_endpoints:
            raise PeerViolation("malformed_response", "tag 0 of a response takes more than one byte")
        yield (yield from _varint())


def _count() -> Generator[int, int, int]:
    """Read a compact length: one more than it stands for, and 0 for null."""
    return max((yield from _varint()) - 1, 0)


def _varint(*, renames_zero: bool = False) -> Generator[int, int, int]:
    """Read an unsigned varint; with `renames_zero` a single byte 0 is renamed, and its new value returned."""
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = yield _NEXT_BYTE
        if renames_zero and index == 0 and byte == 0:
            yield _RENAME_BYTE
            return UNKNOWN_TAG
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > _LARGEST_VARINT:
                raise PeerViolation(
                    "malformed_response", f"a varint of {value} in a response, beyond 31 bits"
                )
            return value
    raise PeerViolation("malformed_response", "a varint of more than five bytes in a response")
