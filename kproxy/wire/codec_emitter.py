"""Makes the fast codec of one version of a message: emits its source from the construct tree and executes it.

Emitting and compiling take about 2 ms, so it happens on first use and never at import. Tracebacks and
debuggers show the emitted lines, as the text is known to `linecache`.
"""

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from construct import Construct

from kproxy.wire.codec_source import CodecSource
from kproxy.wire.decode_emitter import DecodeEmitter
from kproxy.wire.encode_emitter import EncodeEmitter
from kproxy.wire.message_schema import Message
from kproxy.wire.message_struct import MessageStruct, message_struct
from kproxy.wire.primitives import Array, Records


@dataclass(frozen=True, slots=True)
class EmittedCodec:
    """The two functions of a version of a message, and the text they were compiled from.

    `decode(buffer, position)` returns the message and the position after it, `encode(message)` returns
    chunks. What they raise for bad input beside MalformedMessage and UnencodableMessage is mapped by
    `codecs`.
    """

    decode: Callable[[bytes | memoryview, int], tuple[Message, int]]
    encode: Callable[[Message], list[bytes | memoryview]]
    source: str


class EmittedCodecs(dict[tuple[type[Message], int], EmittedCodec]):
    """The codecs by class and version, made on first use. LookupError: there is no such version."""

    __slots__ = ()

    def __missing__(self, key: tuple[type[Message], int]) -> EmittedCodec:
        codec = self[key] = emit_codec(*key)
        return codec


def emit_codec(message_class: type[Message], version: int) -> EmittedCodec:
    """Make the codec of `version`. Raises LookupError when the message has no such version."""
    tree = message_struct(message_class, version)
    source = CodecSource()
    reads_in_place = message_class.SCHEMA.kind == "header" or contains_records(tree)
    is_request = message_class.SCHEMA.kind == "request"
    DecodeEmitter(source, reads_in_place=reads_in_place, counts_elements=is_request).emit(tree)
    source.line("")
    source.line("")
    EncodeEmitter(source).emit(tree)
    file_name = f"<codec of {message_class.SCHEMA.name} v{version}>"
    functions: dict[str, Any] = source.namespace
    exec(compile(source.text, file_name, "exec"), functions)  # noqa: S102 - our own text, made of the schema alone
    linecache.cache[file_name] = (len(source.text), None, source.text.splitlines(keepends=True), file_name)
    return EmittedCodec(functions["decode"], functions["encode"], source.text)


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
