"""Inputs of several parts: who sends what, in which order. Every input is one, and cuts fall into any place."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

_HEAD: Final = struct.Struct(">BH")


def parts_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, bytes) of each part: a byte, a length of two bytes, and so many bytes, or as many as are left."""
    position = 0
    while position + _HEAD.size <= len(data):
        number, size = _HEAD.unpack_from(data, position)
        position += _HEAD.size
        yield number, data[position : position + size]
        position += size


def of_parts(parts: Iterable[tuple[int, bytes]]) -> bytes:
    """Return the input of these parts."""
    return b"".join(_HEAD.pack(number, len(part)) + part for number, part in parts)


def in_chunks(data: bytes, size: int) -> Sequence[bytes]:
    """Return `data` in chunks of `size` bytes, all of it for 0."""
    return [data[start : start + size] for start in range(0, len(data), size)] if size else [data]
