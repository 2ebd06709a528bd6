"""The leaves of every construct tree, and arrays.

No stock construct of the library appears in a message: stock ones lose checks in some of their forms. Each
class here checks bounds, reads through `read_exactly` alone, and raises MalformedMessage when parsing and
UnencodableMessage when building, naming the path of the field. `codec_emitter` reads the public attributes.

`minimum_size` is how many bytes the shortest value takes. Array counts are held against it before anything is
allocated, so that a count of 2^31 in a message of 20 bytes costs nothing.
"""
# ruff: noqa: ARG002, SLF001 - _parsereport, _parse and _build with these arguments are construct's own protocol

import struct
from typing import Any, Final

from construct import Construct

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage, read_exactly
from kproxy.wire.length_prefixes import LengthPrefix
from kproxy.wording import counted

MAXIMUM_STRING_BYTES: Final = 32767
"""Kafka's bound for a string, in either encoding."""


class WireConstruct(Construct):  # type: ignore[misc]  # construct publishes no types
    """A construct that parses from a ByteSource and builds into a ByteSink."""

    minimum_size: int

    def parse(self, data: bytes | memoryview, **_context: Any) -> Any:
        """Parse the beginning of `data`; whole messages go through `kproxy.wire.codecs`."""
        return self.parse_stream(ByteSource(data))

    def build(self, obj: Any, **_context: Any) -> bytes:
        """Return `obj` as bytes."""
        sink = ByteSink()
        self.build_stream(obj, sink)
        return b"".join(sink.chunks())


class FixedWidth(WireConstruct):
    """A big-endian value of fixed width; `code` is its letter in the struct module."""

    def __init__(self, type_name: str, code: str) -> None:
        super().__init__()
        self.type_name: Final = type_name
        self.code: Final = code
        self._struct: Final = struct.Struct(f">{code}")
        self.minimum_size = self._struct.size

    def _parse(self, stream: ByteSource, context: Any, path: str) -> Any:
        (value,) = self._struct.unpack(read_exactly(stream, self.minimum_size, path))
        return value

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        try:
            stream.write(self._struct.pack(obj))
        except struct.error as error:
            raise UnencodableMessage(f"{path}: {obj!r} is no {self.type_name}") from error


class Uuid(FixedWidth):
    """Sixteen bytes."""

    def __init__(self) -> None:
        super().__init__("uuid", "16s")

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        if len(obj) != self.minimum_size:  # struct would pad or cut it in silence
            raise UnencodableMessage(f"{path}: {obj!r} is no uuid, which has 16 bytes")
        super()._build(obj, stream, context, path)


BOOL: Final = FixedWidth("bool", "?")
INT8: Final = FixedWidth("int8", "b")
INT16: Final = FixedWidth("int16", "h")
UINT16: Final = FixedWidth("uint16", "H")
INT32: Final = FixedWidth("int32", "i")
UINT32: Final = FixedWidth("uint32", "I")
INT64: Final = FixedWidth("int64", "q")
FLOAT64: Final = FixedWidth("float64", "d")
UUID: Final = Uuid()


class LengthPrefixed(WireConstruct):
    """A value behind its length, in bytes or elements; `is_nullable` allows the length that means null."""

    def __init__(self, length: LengthPrefix, *, is_nullable: bool) -> None:
        super().__init__()
        self.length: Final = length
        self.is_nullable: Final = is_nullable
        self.minimum_size = length.minimum_size

    def _read_length(self, stream: ByteSource, path: str) -> int | None:
        length = self.length.read(stream, path)
        if length is None and not self.is_nullable:
            raise MalformedMessage(f"{path}: null is not allowed here")
        return length

    def _write_null(self, stream: ByteSink, path: str) -> None:
        if not self.is_nullable:
            raise UnencodableMessage(f"{path}: null is not allowed here")
        self.length.write(stream, None)


class ByteString(LengthPrefixed):
    """Bytes, copied out of the message on parse."""

    def _parse(self, stream: ByteSource, context: Any, path: str) -> Any:
        length = self._read_length(stream, path)
        return None if length is None else self._value(read_exactly(stream, length, path), path)

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        if obj is None:
            self._write_null(stream, path)
            return
        data = self._data(obj, path)
        self.length.write(stream, len(data))
        self._write_data(stream, data)

    def _value(self, data: memoryview, path: str) -> Any:
        return bytes(data)

    def _data(self, obj: Any, path: str) -> bytes | memoryview:
        if not isinstance(obj, bytes | memoryview):
            raise UnencodableMessage(f"{path}: {obj!r} is not bytes")
        return obj

    def _write_data(self, stream: ByteSink, data: bytes | memoryview) -> None:
        stream.write(data)


class String(ByteString):
    """Text in UTF-8, at most 32767 bytes of it."""

    def _value(self, data: memoryview, path: str) -> Any:
        if len(data) > MAXIMUM_STRING_BYTES:
            raise MalformedMessage(f"{path}: a string of {counted(len(data), 'byte')}")
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError as error:
            raise MalformedMessage(f"{path}: {error}") from error

    def _data(self, obj: Any, path: str) -> bytes:
        try:
            data: bytes = obj.encode()
        except (AttributeError, UnicodeEncodeError) as error:
            raise UnencodableMessage(f"{path}: {obj!r} is no text: {error}") from error
        if len(data) > MAXIMUM_STRING_BYTES:
            raise UnencodableMessage(f"{path}: a string of {counted(len(data), 'byte')}")
        return data


class Records(ByteString):
    """Record batches: a view into the message on parse, a chunk of its own on build; never copied."""

    def _value(self, data: memoryview, path: str) -> Any:
        return data

    def _write_data(self, stream: ByteSink, data: bytes | memoryview) -> None:
        stream.write_records(data)


class Array(LengthPrefixed):
    """Elements behind their count."""

    def __init__(self, length: LengthPrefix, element: Construct, *, is_nullable: bool) -> None:
        super().__init__(length, is_nullable=is_nullable)
        self.element: Final = element

    @property
    def minimum_element_size(self) -> int:
        """What a count is multiplied with before it is believed; 1 even if an element could be empty."""
        size: int = self.element.minimum_size
        return max(1, size)

    def _parse(self, stream: ByteSource, context: Any, path: str) -> list[Any] | None:
        count = self._read_length(stream, path)
        if count is None:
            return None
        if count * self.minimum_element_size > stream.remaining:
            raise MalformedMessage(
                f"{path}: {counted(count, 'element')} cannot stand in {counted(stream.remaining, 'byte')}"
            )
        return [self.element._parsereport(stream, context, path) for _ in range(count)]

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        if obj is None:
            self._write_null(stream, path)
            return
        self.length.write(stream, len(obj))
        for element in obj:
            self.element._build(element, stream, context, path)


class Nullable(WireConstruct):
    """A struct that may be null: int8 -1 for null, and 1 before the struct otherwise, as Kafka writes it."""

    minimum_size = 1

    def __init__(self, subcon: Construct) -> None:
        super().__init__()
        self.subcon: Final = subcon

    def _parse(self, stream: ByteSource, context: Any, path: str) -> Any:
        (marker,) = read_exactly(stream, 1, path)
        match marker:
            case 0xFF:
                return None
            case 1:
                return self.subcon._parsereport(stream, context, path)
            case _:
                raise MalformedMessage(f"{path}: {marker} says neither null nor present")

    def _build(self, obj: Any, stream: ByteSink, context: Any, path: str) -> None:
        if obj is None:
            stream.write(b"\xff")
            return
        stream.write(b"\x01")
        self.subcon._build(obj, stream, context, path)
