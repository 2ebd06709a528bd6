"""The acks of a Produce request, read without decoding it.

A broker sends nothing back for acks=0, so whoever pairs responses with requests has to know. Layout before
the field, by version: 0-2 nothing; 3-8 transactional id as nullable string (int16 length); 9 and above request
header v2, whose tag section follows the client id, and transactional id as compact nullable string (varint
of length + 1).
"""

from typing import Final

from kproxy.errors import PeerViolation

NO_ACKS: Final = 0
UNDECIDED: Final = None
"""The bytes at hand end before the field."""

_FIRST_WITH_TRANSACTIONAL_ID: Final = 3
_FIRST_FLEXIBLE: Final = 9
_CLIENT_ID_AT: Final = 12
_MAX_VARINT_BYTES: Final = 5

MAX_PREFIX_BYTES: Final = 1 << 17
"""Client id and transactional id are at most 32,767 bytes each; tags of the header are tiny in every known client."""

MAX_HEADER_TAGS: Final = 64
"""No known client sends any. More would be walked over again with every byte of a prefix that drips in."""


def acks_of_produce(frame: bytes | memoryview, api_version: int, start: int = 0) -> int | None:
    """Return acks (-1, 0 or 1; what else a client sends is returned as it is), or UNDECIDED.

    Args:
        frame: bytes from which the request begins at `start` with its length; it may be cut anywhere.
        api_version: the version in its head.
        start: where its length field is.

    Raises:
        PeerViolation: the field is further in than any client would put it.
    """
    view = memoryview(frame)[start : start + MAX_PREFIX_BYTES]
    try:
        acks_at = _acks_position(view, api_version)
        value = view[acks_at : acks_at + 2]
    except IndexError:
        value = view[:0]
    if len(value) == 2:
        return int.from_bytes(value, "big", signed=True)
    if len(view) == MAX_PREFIX_BYTES:
        raise PeerViolation(
            "malformed_request", f"no acks within {MAX_PREFIX_BYTES} bytes of a Produce request"
        )
    return UNDECIDED


def _acks_position(view: memoryview, api_version: int) -> int:
    position = _after_string(view, _CLIENT_ID_AT)
    if api_version >= _FIRST_FLEXIBLE:
        return _after_compact_string(view, _after_tags(view, position))
    if api_version >= _FIRST_WITH_TRANSACTIONAL_ID:
        return _after_string(view, position)
    return position


def _after_string(view: memoryview, position: int) -> int:
    length = (view[position] << 8) | view[position + 1]
    # 0xFFFF is -1: null.
    return position + 2 if length == 0xFFFF else position + 2 + length


def _after_compact_string(view: memoryview, position: int) -> int:
    length_and_one, position = _varint(view, position)
    return position if length_and_one == 0 else position + length_and_one - 1


def _after_tags(view: memoryview, position: int) -> int:
    count, position = _varint(view, position)
    if count > MAX_HEADER_TAGS:
        raise PeerViolation("malformed_request", f"{count} tags in the header of a Produce request")
    for _ in range(count):
        _tag, position = _varint(view, position)
        size, position = _varint(view, position)
        position += size
    return position


def _varint(view: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = view[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise PeerViolation("malformed_request", "a varint of more than five bytes in a Produce request")
