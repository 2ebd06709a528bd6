"""Makes the fast codec of one version of a message: emits its source from the construct tree and executes it.

Emitting and compiling one half takes about 1 ms, so it happens on first use and never at import: of most messages
kproxy only ever reads or only ever writes one version. Tracebacks and debuggers show the emitted lines, as the text
is known to `linecache`.
"""

import linecache
from collections.abc import Callable
from typing import Any

from construct import Construct

from kproxy.wire.codec_source import CodecSource
from kproxy.wire.decode_emitter import DecodeEmitter, most_elements_of
from kproxy.wire.encode_emitter import EncodeEmitter
from kproxy.wire.message_schema import Message
from kproxy.wire.message_struct import MessageStruct, message_struct
from kproxy.wire.primitives import Array, Records


class EmittedCodec:
    """The two functions of a version of a message, each made when it is first called.

    `decode(buffer, position)` returns the message and the position after it, `encode(message)` returns
    chunks. What they raise for bad input beside MalformedMessage and UnencodableMessage is mapped by
    `codecs`.

    Raises LookupError when the message has no such version.
    """

    __slots__ = ("_message_class", "_name", "_tree", "decode", "encode")

    def __init__(self, message_class: type[Message], version: int) -> None:
        self._message_class = message_class
        self._tree = message_struct(message_class, version)
        self._name = f"{message_class.SCHEMA.name} v{version}"
        self.decode: Callable[[bytes | memoryview, int], tuple[Message, int]] = self._decode_first
        self.encode: Callable[[Message], list[bytes | memoryview]] = self._encode_first

    def source_of_decode(self) -> CodecSource:
        """Return the text of `decode`."""
        source = CodecSource()
        schema = self._message_class.SCHEMA
        reads_in_place = schema.kind == "header" or contains_records(self._tree)
        DecodeEmitter(source, reads_in_place=reads_in_place, most_elements=most_elements_of(schema)).emit(
            self._tree
        )
        return source

    def source_of_encode(self) -> CodecSource:
        """Return the text of `encode`."""
        source = CodecSource()
        EncodeEmitter(source).emit(self._tree)
        return source

    def _decode_first(self, buffer: bytes | memoryview, position: int) -> tuple[Message, int]:
        self.decode = _compiled(self.source_of_decode(), f"<decoder of {self._name}>")["decode"]
        return self.decode(buffer, position)

    def _encode_first(self, message: Message) -> list[bytes | memoryview]:
        self.encode = _compiled(self.source_of_encode(), f"<encoder of {self._name}>")["encode"]
        return self.encode(message)


class EmittedCodecs(dict[tuple[type[Message], int], EmittedCodec]):
    """The codecs by class and version, made on first use. LookupError: there is no such version."""

    __slots__ = ()

    def __missing__(self, key: tuple[type[Message], int]) -> EmittedCodec:
        codec = self[key] = EmittedCodec(*key)
        return codec


def _compiled(source: CodecSource, file_name: str) -> dict[str, Any]:
    """Return the functions of an emitted text."""
    functions: dict[str, Any] = source.namespace
    exec(compile(source.text, file_name, "exec"), functions)  # noqa: S102 - our own text, made of the schema alone
    linecache.cache[file_name] = (len(source.text), None, source.text.splitlines(keepends=True), file_name)
    return functions


def contains_records(construct: Construct) -> bool:
    """Whether a value of `construct` may hold record batches."""
    match construct:
        case Records():
            return True
        case Array():
            return contains_records(construct.element)
        case MessageStruct():
            return any(contains_records(member) for member in construct.subcons)
        case _:
            subcon = getattr(construct, "subcon", None)
            return subcon is not None and contains_records(subcon)
