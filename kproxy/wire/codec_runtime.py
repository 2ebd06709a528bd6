"""What emitted codecs call in rarer cases, and the tables they share.

Decoding functions raise IndexError and struct.error as well when the buffer is too short; `codecs` maps
these.

A number in a list takes up to 40 bytes of memory, a tagged field of three bytes 200. Where a request has several
numbers in an array, or many such fields, they are kept packed, and become objects one after the other when somebody
iterates.
"""

import functools
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from sys import byteorder
from typing import Any, Final

from kproxy.errors import MalformedMessage
from kproxy.wire.varints import decode_varint, encode_varint
from kproxy.wording import counted

ONE_BYTE: Final = tuple(bytes((number,)) for number in range(256))
"""Single bytes by their number."""

_LARGEST_KEPT_COUNT: Final = 128

MOST_LISTED_NUMBERS: Final = 1
"""More numbers than that in one array of a request are packed: two in a list take about what twenty take packed."""

MANY_TAGS: Final = 16
"""More tagged fields than that in one struct are packed when no schema knows them, and must come by rising tag. KIP-482
asks everybody for that order, and fewer are put in order for those who do not keep it."""

_LARGEST_BYTE: Final = 127
"""The largest number that is a varint of one byte."""

PACKABLE: Final = frozenset("bhiqHId")
"""The letters of the struct module whose values can be packed."""


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


class PackedNumbers(array):  # type: ignore[type-arg]  # not subscriptable in its own bases
    """Numbers that equal a list of the same ones."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of numbers, one by one."""
        if not isinstance(other, array | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __ne__(self, other: object) -> bool:
        """Compare as `==` does; an array has its own way for each."""
        return not self == other


def packed_numbers(encoded: bytes, code: str) -> PackedNumbers:
    """Return the numbers of struct letter `code` that `encoded` is, big-endian, and nothing else."""
    numbers = PackedNumbers(code, encoded)
    if byteorder == "little":  # pragma: no branch
        numbers.byteswap()
    return numbers


class PackedTags(Sequence[tuple[int, bytes]]):
    """Tagged fields by rising tag, as they came: `encoded` is tag, size and content of each. Equals a tuple of them."""

    __slots__ = ("_count", "encoded")
    __hash__ = None  # type: ignore[assignment]  # it equals what has another one

    def __init__(self, count: int, encoded: bytes) -> None:
        self._count = count
        self.encoded = encoded

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield tag and content of each."""
        position = 0
        for _ in range(self._count):
            tag, position = decode_varint(self.encoded, position)
            size, position = decode_varint(self.encoded, position)
            yield tag, self.encoded[position : position + size]
            position += size

    def __getitem__(self, index: Any) -> Any:
        """Return one, or some; all before it are read."""
        if isinstance(index, slice) or index < 0:
            return tuple(self)[index]
        for found in islice(self, index, None):
            return found
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of tagged fields."""
        if not isinstance(other, PackedTags | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(
            mine == theirs for mine, theirs in zip(self, other, strict=True)
        )

    def __repr__(self) -> str:
        """Tell how many there are."""
        return f"PackedTags({self._count}, {counted(len(self.encoded), 'byte')})"

    @property
    def section(self) -> bytes:
        """Their count, and all of them, as a message has it."""
        return encode_varint(self._count) + self.encoded


def packed_tags(buffer: bytes | memoryview, position: int, count: int) -> tuple[PackedTags, int]:
    """Return the `count` tagged fields at `position`, and the position after them.

    Raises:
        MalformedMessage: a content does not fit in the buffer, a tag does not rise, or a varint is longer than needed.
    """
    start, previous, length = position, -1, len(buffer)
    for _ in range(count):
        tag = buffer[position]
        position += 1
        if tag > _LARGEST_BYTE:
            tag, position = _tidy_varint(buffer, position - 1)
        size = buffer[position]
        position += 1
        if size > _LARGEST_BYTE:
            size, position = _tidy_varint(buffer, position - 1)
        if tag <= previous:
            raise MalformedMessage(f"tag {tag} stands behind tag {previous}, which nobody knows either")
        previous = tag
        position += size
        if position > length:
            raise MalformedMessage(
                f"tag {tag} of {counted(size, 'byte')} at byte {position - size} of {length}"
            )
    return PackedTags(count, bytes(buffer[start:position])), position


def _tidy_varint(buffer: bytes | memoryview, position: int) -> tuple[int, int]:
    number, end = decode_varint(buffer, position)
    if buffer[end - 1] == 0:
        raise MalformedMessage(f"varint {number} is longer than needed, among tags that nobody knows")
    return number, end


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
) -> tuple[tuple[tuple[int, bytes], ...] | PackedTags, int]:
    """Return `count` fields of tags that the schema does not know, by rising tag, and the position after.

    Raises:
        MalformedMessage: as `tagged_field_head`; of many, one does not come by rising tag.
    """
    if count > MANY_TAGS:
        return packed_tags(buffer, position, count)
    fields = []
    seen: set[int] = set()
    for _ in range(count):
        tag, position, end = tagged_field_head(buffer, position, seen)
        fields.append((tag, bytes(buffer[position:end])))
        position = end
    return tuple(sorted(fields)), position
