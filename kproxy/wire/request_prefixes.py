"""Stepping over the first fields of a request that is not decoded, and may not have come whole.

Layout of a head: length, API key, version and correlation id (12 bytes), client id as nullable string (int16 length),
and in flexible versions a tag section. What ends early raises IndexError, or leads to a position behind the end.
"""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.wording import counted

MAX_PREFIX_BYTES: Final = 1 << 17
"""Client id and the ids behind it are at most 32,767 bytes each; tags of the header are tiny in every known client."""

MAX_HEADER_TAGS: Final = 64
"""No known client sends any. More would be walked over again with every byte of a prefix that drips in."""

_CLIENT_ID_AT: Final = 12
_MAX_VARINT_BYTES: Final = 5


def after_header(view: memoryview, *, is_flexible: bool) -> int:
    """Return where the request's own fields begin. Raises PeerViolation for what no header looks like."""
    # The client id, as `after_string` does it: this is done for every Produce.
    length = (view[_CLIENT_ID_AT] << 8) | view[_CLIENT_ID_AT + 1]
    position = _CLIENT_ID_AT + 2 if length == 0xFFFF else _CLIENT_ID_AT + 2 + length
    return after_tags(view, position) if is_flexible else position


def after_string(view: memoryview, position: int) -> int:
    """Return where the string ends that begins at `position`: int16 length, -1 for null."""
    length = (view[position] << 8) | view[position + 1]
    # 0xFFFF is -1: null.
    return position + 2 if length == 0xFFFF else position + 2 + length


def after_compact_string(view: memoryview, position: int) -> int:
    """Return where the compact string ends that begins at `position`: varint of length + 1, 0 for null."""
    length_and_one, position = after_varint(view, position)
    return position if length_and_one == 0 else position + length_and_one - 1


def after_varint(view: memoryview, position: int) -> tuple[int, int]:
    """Return the unsigned varint at `position`, and where it ends. Raises PeerViolation beyond five bytes."""
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = view[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise PeerViolation("malformed_request", "a varint of more than five bytes at the beginning of a request")


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
