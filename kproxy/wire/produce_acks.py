"""The acks of a Produce request, read without decoding it.

A broker sends nothing back for acks=0, so whoever pairs responses with requests has to know. Layout between header and
field, by version: 0-2 nothing; 3-8 transactional id as nullable string; 9 and above as compact nullable string.
"""

from typing import Final

from kproxy.errors import PeerViolation
from kproxy.wire.request_prefixes import MAX_PREFIX_BYTES, after_compact_string, after_header, after_string

NO_ACKS: Final = 0
UNDECIDED: Final = None
"""The bytes at hand end before the field."""

_FIRST_WITH_TRANSACTIONAL_ID: Final = 3
_FIRST_FLEXIBLE: Final = 9


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


def owes_response(data: bytes | memoryview, position: int, end: int, api_version: int) -> bool | None:
    """Tell whether the Produce request that begins at `position` gets a response; UNDECIDED while its acks are to come.

    Args:
        data: what has come.
        position: where its length field is.
        end: where it ends, be it beyond `data`.
        api_version: the version in its head.

    Raises:
        PeerViolation: it ends before its acks, or they are further in than any client would put them.
    """
    acks = acks_of_produce(memoryview(data)[:end], api_version, position)
    if acks is not UNDECIDED:
        return acks != NO_ACKS
    if end <= len(data):
        raise PeerViolation("malformed_request", f"a Produce version {api_version} that ends before its acks")
    return UNDECIDED


def _acks_position(view: memoryview, api_version: int) -> int:
    is_flexible = api_version >= _FIRST_FLEXIBLE
    position = after_header(view, is_flexible=is_flexible)
    if is_flexible:
        return after_compact_string(view, position)
    return after_string(view, position) if api_version >= _FIRST_WITH_TRANSACTIONAL_ID else position
