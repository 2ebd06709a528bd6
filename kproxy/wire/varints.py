"""Unsigned varints: seven bits a byte, lowest first, at most five bytes for 32 bits (KIP-482)."""

from typing import Final

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSource, UnencodableMessage

VARINT_LIMIT: Final = 2**32
"""The first number that no varint holds."""


def encode_varint(number: int) -> bytes:
    """Return the shortest varint of `number`. Raises UnencodableMessage outside of 0 to 2^32 - 1."""
    if not 0 <= number < VARINT_LIMIT:
        raise UnencodableMessage(f"{number} does not fit an unsigned varint of 32 bits")
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def decode_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    """Return the varint at `position` and the position after it. It may be longer than needed, as in Kafka.

    Raises:
        MalformedMessage: no end within five bytes, or a number of more than 32 bits.
        IndexError: the buffer ends first.
    """
    number = 0
    for shift in (0, 7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >= VARINT_LIMIT:
                raise MalformedMessage(f"varint {number} has more than 32 bits")
            return number, position
    raise MalformedMessage("varint has no end within five bytes")


def read_varint(source: ByteSource, path: str) -> int:
    """Return the varint at the position of `source` and move on. Raises MalformedMessage, naming `path`."""
    try:
        number, source.position = decode_varint(source.view, source.position)
    except IndexError:
        raise MalformedMessage(f"{path}: the message ends within a varint") from None
    except MalformedMessage as error:
        raise MalformedMessage(f"{path}: {error}") from None
    return number
