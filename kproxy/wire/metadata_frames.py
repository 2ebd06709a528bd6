"""`LastingParts`: what of a Metadata response can be compared byte for byte with a later one.

Two answers to the same question, with nothing changed in between, differ in the correlation id, in the throttle time,
and in the controller: a KRaft broker names any broker that is alive, another one each time
(`KRaftMetadataCache.getRandomAliveBrokerId`).
"""

from dataclasses import dataclass
from typing import Final, Self

from kproxy.errors import MalformedMessage
from kproxy.wire.varints import decode_varint

FIRST_FLEXIBLE_VERSION: Final = 9
"""Below it strings and arrays have other lengths, and nothing is compared."""

_CORRELATION_ID_BYTES: Final = 4
_THROTTLE_TIME_BYTES: Final = 4
_NODE_ID_BYTES: Final = 4
_PORT_BYTES: Final = 4
_CONTROLLER_ID_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class LastingParts:
    """What lies before and behind the controller's id: brokers and cluster, topics."""

    before: bytes
    behind: bytes

    @classmethod
    def of(cls, frame: bytes | memoryview, api_version: int) -> Self:
        """Copy them from `frame`, a response without its length.

        Raises:
            MalformedMessage: it is no such response, or of a version below `FIRST_FLEXIBLE_VERSION`.
        """
        before, behind = _parts(memoryview(frame), api_version)
        return cls(bytes(before), bytes(behind))

    def are_those_of(self, frame: bytes | memoryview, api_version: int) -> bool:
        """Return whether `frame` has the same, without a copy of it. Raises MalformedMessage, see `of`."""
        before, behind = _parts(memoryview(frame), api_version)
        return _are_equal(self.before, before) and _are_equal(self.behind, behind)


def _are_equal(kept: bytes, view: memoryview) -> bool:
    # Comparing a view with == goes element by element; this compares memory.
    return len(kept) == len(view) and kept.startswith(view)


def _parts(frame: memoryview, api_version: int) -> tuple[memoryview, memoryview]:
    if api_version < FIRST_FLEXIBLE_VERSION:
        raise MalformedMessage(
            f"Metadata v{api_version}: only {FIRST_FLEXIBLE_VERSION} and above are compared"
        )
    try:
        begin = _after_tags(frame, _CORRELATION_ID_BYTES) + _THROTTLE_TIME_BYTES
        controller_at = _after_string(frame, _after_brokers(frame, begin))
    except IndexError:
        raise MalformedMessage(f"Metadata v{api_version}: it ends within its brokers") from None
    behind = controller_at + _CONTROLLER_ID_BYTES
    if behind > len(frame):
        raise MalformedMessage(f"Metadata v{api_version}: it ends before its topics")
    return frame[begin:controller_at], frame[behind:]


def _after_brokers(frame: bytes | memoryview, position: int) -> int:
    count, position = decode_varint(frame, position)
    for _ in range(count - 1):
        position = _after_string(frame, position + _NODE_ID_BYTES)
        position = _after_tags(frame, _after_string(frame, position + _PORT_BYTES))
    return position


def _after_tags(frame: bytes | memoryview, position: int) -> int:
    count, position = decode_varint(frame, position)
    for _ in range(count):
        _tag, position = decode_varint(frame, position)
        size, position = decode_varint(frame, position)
        position += size
    return position


def _after_string(frame: bytes | memoryview, position: int) -> int:
    # The length is one more than it is, and 0 for null.
    length, position = decode_varint(frame, position)
    return position + max(length - 1, 0)
