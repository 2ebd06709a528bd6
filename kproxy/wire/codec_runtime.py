"""What emitted codecs call in rarer cases, and the tables they share.

Decoding functions raise IndexError and struct.error as well when the buffer is too short; `codecs` maps
these.
"""

import functools
import struct
from collections.abc import Callable
from typing import Any, Final

from kproxy.errors import MalformedMessage
from kproxy.wire.varints import decode_varint
from kproxy.wording import counted

ONE_BYTE: Final = tuple(bytes((number,)) for number in range(256))
"""Single bytes by their number."""

_LARGEST_KEPT_COUNT: Final = 128


class ArrayMethods(dict[int, Callable[..., Any]]):
    """A method of the structs that hold an array between other values, by count; made on first use.

    `before`, `element` and `after` are letters of the struct module; `method` is `pack` or `unpack_from`.
    """

    __slots__ = ("_after", "_before", "_element", "_method")

    def __init__(self, method: str, before: str, element: str, after: str) -> None:
        super().__init__()
        self._method: Final = method
        self._before: Final = before
        self._element: Final = element
        self._after: Final = after

    def __missing__(self, count: int) -> Callable[..., Any]:
        layout = struct.Struct(f">{self._before}{count}{self._element}{self._after}")
        method: Callable[..., Any] = getattr(layout, self._method)
        if count <= _LARGEST_KEPT_COUNT:
            self[count] = method
        return method


@functools.cache
def array_methods(method: str, before: str, element: str, after: str) -> ArrayMethods:
    """Return the one table for these codes, see ArrayMethods."""
    return ArrayMethods(method, before, element, after)


def tagged_field_head(buffer: bytes | memoryview, position: int, seen: set[int]) -> tuple[int, int, int]:
    """Return tag, position and end of a tagged field's content, and add the tag to `seen`.

    Raises:
        MalformedMessage: the content does not fit in the buffer, or the tag was seen before.
    """
    tag, position = decode_varint(buffer, position)
    size, position = decode_varint(buffer, position)
    if size > len(buffer) - position:
        raise MalformedMessage(f"tag {tag} of {counted(size, 'byte')} at byte {position} of {len(buffer)}")
    if tag in seen:
        raise MalformedMessage(f"tag {tag} stands twice")
    seen.add(tag)
    return tag, position, position + size


def unknown_tagged_fields(
    buffer: bytes | memoryview, position: int, count: int
) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Return `count` fields of tags that the schema does not know, by rising tag, and the position after."""
    fields = []
    seen: set[int] = set()
    for _ in range(count):
        tag, position, end = tagged_field_head(buffer, position, seen)
        fields.append((tag, bytes(buffer[position:end])))
        position = end
    return tuple(sorted(fields)), position
