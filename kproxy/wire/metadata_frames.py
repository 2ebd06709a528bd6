"""Metadata responses, as far as they are read without decoding their topics, of which one may have thousands.

`MetadataBrokers` are what stands before the topics. Where they are replaced, nothing but hosts and ports is; every
other byte, tags that nobody knows among them, goes on as it came.

`LastingParts` are what can be compared byte for byte with a later response. Two answers to the same question, with
nothing changed in between, differ in the correlation id, in the throttle time, and in the controller: a KRaft broker
names any broker that is alive, another one each time (`KRaftMetadataCache.getRandomAliveBrokerId`).
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from kproxy.errors import MalformedMessage
from kproxy.wire.varints import decode_varint, encode_varint

FIRST_FLEXIBLE_VERSION: Final = 9
"""Below it strings and arrays have other lengths, and nothing is compared."""

_FIRST_WITH_RACKS: Final = 1
_FIRST_WITH_THROTTLE_TIME: Final = 3

_CORRELATION_ID_BYTES: Final = 4
_THROTTLE_TIME_BYTES: Final = 4
_CONTROLLER_ID_BYTES: Final = 4
_INT32: Final = struct.Struct(">i")
_INT16: Final = struct.Struct(">h")


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
    walk = _Walk(frame, api_version)
    try:
        walk.skip_head()
        begin = walk.position
        for _ in range(walk.array_count()):
            walk.broker()
        walk.skip_string()
    except (IndexError, struct.error):
        raise MalformedMessage(f"Metadata v{api_version}: it ends within its brokers") from None
    behind = walk.position + _CONTROLLER_ID_BYTES
    if behind > len(frame):
        raise MalformedMessage(f"Metadata v{api_version}: it ends before its topics")
    return frame[begin : walk.position], frame[behind:]


@dataclass(frozen=True, slots=True)
class NamedBroker:
    """A broker as a response names it; `behind` is what follows its port, as bytes."""

    node_id: int
    host: str
    port: int
    behind: memoryview


@dataclass(frozen=True, slots=True)
class MetadataBrokers:
    """The brokers of one response, and what lies around them."""

    before: memoryview
    count: memoryview
    brokers: tuple[NamedBroker, ...]
    after: memoryview
    is_flexible: bool

    @classmethod
    def of(cls, frame: memoryview, api_version: int) -> Self:
        """Read them from `frame`, a response without its length, of any version.

        Raises:
            MalformedMessage: it ends within its brokers, or they cannot be read.
        """
        walk = _Walk(frame, api_version)
        try:
            walk.skip_head()
            begin = walk.position
            number = walk.array_count()
            first = walk.position
            brokers = tuple(walk.broker() for _ in range(number))
        except (IndexError, struct.error):
            raise MalformedMessage(f"Metadata v{api_version}: it ends within its brokers") from None
        end = walk.position
        return cls(frame[:begin], frame[begin:first], brokers, frame[end:], walk.is_flexible)

    def readdressed(self, addresses: Iterable[tuple[str, int]]) -> list[bytes | memoryview]:
        """Return the response with these hosts and ports, one for each of `brokers` in order; without its length."""
        named = bytearray(self.count)
        for broker, (host, port) in zip(self.brokers, addresses, strict=True):
            named += _INT32.pack(broker.node_id)
            named += _string(host, is_flexible=self.is_flexible)
            named += _INT32.pack(port)
            named += broker.behind
        return [self.before, bytes(named), self.after]


class _Walk:
    """Reads on from `position`. Where `frame` ends it raises IndexError or struct.error."""

    __slots__ = ("_api_version", "_frame", "is_flexible", "position")

    def __init__(self, frame: memoryview, api_version: int) -> None:
        self._frame = frame
        self._api_version = api_version
        self.is_flexible = api_version >= FIRST_FLEXIBLE_VERSION
        self.position = 0

    def skip_head(self) -> None:
        self._skip(_CORRELATION_ID_BYTES)
        if self.is_flexible:
            self._skip_tags()
        if self._api_version >= _FIRST_WITH_THROTTLE_TIME:
            self._skip(_THROTTLE_TIME_BYTES)

    def array_count(self) -> int:
        count = self._varint() - 1 if self.is_flexible else self._int32()
        if count < 0:
            raise MalformedMessage("Metadata: brokers may not be null")
        return count

    def broker(self) -> NamedBroker:
        node_id = self._int32()
        host = self._host()
        port = self._int32()
        begin = self.position
        if self._api_version >= _FIRST_WITH_RACKS:
            self.skip_string()
        if self.is_flexible:
            self._skip_tags()
        return NamedBroker(node_id, host, port, self._frame[begin : self.position])

    def skip_string(self) -> None:
        self._skip(max(self._string_length(), 0))

    def _host(self) -> str:
        length = self._string_length()
        if length < 0:
            raise MalformedMessage("Metadata: the host of a broker may not be null")
        begin = self.position
        self._skip(length)
        try:
            return str(self._frame[begin : self.position], "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"Metadata: the host of a broker is no UTF-8: {error}") from None

    def _string_length(self) -> int:
        """Read a length; negative for null."""
        return self._varint() - 1 if self.is_flexible else self._int16()

    def _skip_tags(self) -> None:
        for _ in range(self._varint()):
            self._varint()
            self._skip(self._varint())

    def _skip(self, size: int) -> None:
        self.position += size
        if self.position > len(self._frame):
            raise IndexError

    def _varint(self) -> int:
        number, self.position = decode_varint(self._frame, self.position)
        return number

    def _int32(self) -> int:
        (number,) = _INT32.unpack_from(self._frame, self.position)
        self.position += _INT32.size
        return int(number)

    def _int16(self) -> int:
        (number,) = _INT16.unpack_from(self._frame, self.position)
        self.position += _INT16.size
        return int(number)


def _string(text: str, *, is_flexible: bool) -> bytes:
    encoded = text.encode()
    length = encode_varint(len(encoded) + 1) if is_flexible else _INT16.pack(len(encoded))
    return length + encoded
