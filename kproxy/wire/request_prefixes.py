"""Stepping over the first fields of a request that is not decoded, and may not have come whole.

Layout of a head: length, API key, version and correlation id (12 bytes), client id as nullable string (int16 length),
and in flexible versions a tag section. What ends early raises IndexError, or leads to a position behind the end.

What brokers would read in another way than it is read here, no client sends, and it is refused. Kafka keeps the lowest
32 bits of a varint and takes them for a signed number (`ByteUtils.readUnsignedVarint`), and any negative length of a
string for null; who may choose how it is read could name one group or topic to kproxy and another one to a broker.
"""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.wording import counted

MAX_PREFIX_BYTES: Final = 1 << 17
"""Client id and the ids behind it are at most 32,767 bytes each; tags of the header are tiny in every known client."""

MAX_HEADER_TAGS: Final = 64
"""No known client sends any. More would be walked over again with every byte of a prefix that drips in."""

LARGEST_VARINT: Final = 2**31 - 1
"""What is larger, brokers read as a negative number, or without its highest bits."""

MAX_VARINT_BYTES: Final = 5
"""Of a varint that brokers read."""

_CLIENT_ID_AT: Final = 12
_NULL_LENGTH: Final = 0xFFFF
_FIRST_NEGATIVE_LENGTH: Final = 0x8000


def after_header(view: memoryview, *, is_flexible: bool) -> int:
    """Return where the request's own fields begin. Raises PeerViolation for what no header looks like."""
    # The client id, as `after_string` does it: this is done for every Produce.
    length = (view[_CLIENT_ID_AT] << 8) | view[_CLIENT_ID_AT + 1]
    position = _CLIENT_ID_AT + 2 + (length if length < _FIRST_NEGATIVE_LENGTH else _of_null(length))
    return after_tags(view, position) if is_flexible else position


def after_string(view: memoryview, position: int) -> int:
    """Return where the string ends that begins at `position`: int16 length, -1 for null. Raises PeerViolation."""
    length = (view[position] << 8) | view[position + 1]
    return position + 2 + (length if length < _FIRST_NEGATIVE_LENGTH else _of_null(length))


def _of_null(length: int) -> int:
    if length != _NULL_LENGTH:
        raise PeerViolation("malformed_request", f"a string of length {length - 0x10000} in a request")
    return 0


def after_compact_string(view: memoryview, position: int) -> int:
    """Return where the compact string ends that begins at `position`: varint of length + 1, 0 for null."""
    length_and_one, position = after_varint(view, position)
    return position if length_and_one == 0 else position + length_and_one - 1


def after_varint(view: memoryview, position: int) -> tuple[int, int]:
    """Return the unsigned varint at `position`, and where it ends.

    It may be longer than it need be, as in Kafka. Raises PeerViolation beyond five bytes or `LARGEST_VARINT`.
    """
    value = view[position]
    if value < 0x80:  # most are: tags that are not there, and names
        return value, position + 1
    value &= 0x7F
    for index in range(1, MAX_VARINT_BYTES):
        byte = view[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value > LARGEST_VARINT:
                raise PeerViolation("malformed_request", f"a varint of {value} in a request, beyond 31 bits")
            return value, position + index + 1
    raise PeerViolation("malformed_request", "a varint of more than five bytes in a request")


def after_tags(view: memoryview, position: int) -> int:
    """Return where the tag section ends that begins at `position`. Raises PeerViolation for what none looks like."""
    count, position = after_varint(view, position)
    if count > MAX_HEADER_TAGS:
        raise PeerViolation("malformed_request", f"{counted(count, 'tag')} in the header of a request")
    for _ in range(count):
        _tag, position = after_varint(view, position)
        size, position = after_varint(view, position)
        position += size
    return position
