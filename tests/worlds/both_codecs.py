"""The two codecs side by side, through the public functions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from kproxy.errors import MalformedMessage
from kproxy.wire.codecs import Message, decode, encode, select_codec

CodecKind = Literal["emitted", "construct"]
CODEC_KINDS: Final[tuple[CodecKind, ...]] = ("emitted", "construct")


@contextmanager
def selected(kind: CodecKind) -> Iterator[None]:
    """Use that codec inside of the context, and the default one afterwards."""
    select_codec(kind)
    try:
        yield
    finally:
        select_codec("emitted")


def decode_with(
    kind: CodecKind, message_class: type[Message], version: int, buffer: bytes | memoryview
) -> Message:
    """Decode with that codec."""
    with selected(kind):
        return decode(message_class, version, buffer)


def encode_with(kind: CodecKind, message: Message, version: int) -> bytes:
    """Encode with that codec; return the chunks as one."""
    with selected(kind):
        return b"".join(encode(message, version))


def outcome(
    kind: CodecKind, message_class: type[Message], version: int, buffer: bytes
) -> Message | Literal["malformed"]:
    """Return what decoding gives: the message, or that the bytes are malformed. Nothing else is caught."""
    try:
        return decode_with(kind, message_class, version, buffer)
    except MalformedMessage:
        return "malformed"
