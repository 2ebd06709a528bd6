"""Lengths and counts before values: int16 or int32; in flexible versions a varint of one more (KIP-482)."""

import struct
from typing import Final, Protocol

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage, read_exactly
from kproxy.wire.varints import encode_varint, read_varint


class LengthPrefix(Protocol):
    """One way to write a length. A length of None is null."""

    minimum_size: int

    def read(self, source: ByteSource, path: str) -> int | None:
        """Return the length at the position of `source`, never negative. Raises MalformedMessage."""
        ...

    def write(self, sink: ByteSink, length: int | None) -> None:
        """Append `length`. Raises UnencodableMessage when it is too large."""
        ...


class FixedLength:
    """A signed big-endian integer, -1 for null; `code` is its letter in the struct module."""

    def __init__(self, code: str) -> None:
        self.code: Final = code
        self._struct: Final = struct.Struct(f">{code}")
        self.minimum_size = self._struct.size

    def read(self, source: ByteSource, path: str) -> int | None:
        (length,) = self._struct.unpack(read_exactly(source, self.minimum_size, path))
        if length < -1:
            raise MalformedMessage(f"{path}: length {length}")
        return None if length == -1 else int(length)

    def write(self, sink: ByteSink, length: int | None) -> None:
        try:
            sink.write(self._struct.pack(-1 if length is None else length))
        except struct.error as error:
            raise UnencodableMessage(f"length {length} is too large") from error


class CompactLength:
    """A varint that is 0 for null and one more than the length otherwise."""

    minimum_size = 1

    def read(self, source: ByteSource, path: str) -> int | None:
        number = read_varint(source, path)
        return None if number == 0 else number - 1

    def write(self, sink: ByteSink, length: int | None) -> None:
        sink.write(encode_varint(0 if length is None else length + 1))


INT16_LENGTH: Final = FixedLength("h")
INT32_LENGTH: Final = FixedLength("i")
COMPACT_LENGTH: Final = CompactLength()
