"""The group id of a request that is about one group, read without decoding the request.

Layout between header and field: nothing, but for TxnOffsetCommit, whose transactional id comes first. What members of
share groups send is flexible in every version; ShareFetch goes on with member id, ShareSessionEpoch and MaxWaitMs.
"""

import struct
from collections.abc import Mapping
from typing import Final

from kproxy.errors import PeerViolation
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.by_api_key import REQUEST_CLASSES
from kproxy.wire.primitives import MAXIMUM_STRING_BYTES
from kproxy.wire.request_prefixes import (
    MAX_PREFIX_BYTES,
    after_compact_string,
    after_header,
    after_string,
    after_tags,
    after_varint,
)

UNDECIDED: Final = None
"""The bytes at hand end before the end of the field."""

NO_GROUP: Final = ""
"""There is no such field where a client would put it. Whoever decodes the request says what is wrong."""

API_KEYS: Final[frozenset[int]] = frozenset(
    (
        ApiKey.OFFSET_COMMIT,
        ApiKey.JOIN_GROUP,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.OFFSET_DELETE,
    )
)
"""The requests of which `group_id_of` can tell the group: those that join a group, act as a member, or write to it."""

MEMBER_API_KEYS: Final[frozenset[int]] = frozenset(
    (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
)
"""What members of share groups send all the time; `group_id_of_member` tells the group."""

_NEVER: Final = 1 << 15
"""No API has as many versions."""

_FIRST_FLEXIBLE: Final[Mapping[int, int]] = {
    api_key: _NEVER if flexible is None else flexible.first
    for api_key in API_KEYS
    for flexible in (REQUEST_CLASSES[api_key].SCHEMA.flexible_versions,)
}


_CLIENT_ID_AT: Final = 8
_EPOCH_AND_MAX_WAIT: Final = struct.Struct(">ii")


def group_id_of(frame: bytes | memoryview, api_key: int, api_version: int, start: int = 0) -> str | None:
    """Return the group id, NO_GROUP or UNDECIDED.

    What no client sends raises PeerViolation: a broker may find a group in it all the same.

    Args:
        frame: bytes from which the request begins at `start` with its length; it may be cut anywhere.
        api_key: the API key in its head, one of `API_KEYS`.
        api_version: the version in its head.
        start: where its length field is.
    """
    view = memoryview(frame)[start : start + MAX_PREFIX_BYTES]
    try:
        begin, end = _place_of(view, api_key, is_flexible=api_version >= _FIRST_FLEXIBLE[api_key])
    except IndexError:
        begin, end = 0, len(view) + 1
    if end <= len(view):
        # Bytes that are no text become what no group is called.
        return bytes(view[begin:end]).decode("utf-8", "surrogateescape")
    if end > MAX_PREFIX_BYTES:
        raise PeerViolation(
            "malformed_request",
            f"no group id within {MAX_PREFIX_BYTES} bytes of a request (API key {api_key})",
        )
    return UNDECIDED


def _place_of(view: memoryview, api_key: int, *, is_flexible: bool) -> tuple[int, int]:
    """Return where the characters of the group id begin and end; the end may be behind that of `view`."""
    position = after_header(view, is_flexible=is_flexible)
    if api_key == ApiKey.TXN_OFFSET_COMMIT:
        position = (after_compact_string if is_flexible else after_string)(view, position)
    if not is_flexible:
        return position + 2, after_string(view, position)
    length_and_one, begin = after_varint(view, position)
    return begin, begin + max(length_and_one - 1, 0)


def group_id_of_member(frame: memoryview) -> str:
    """Return the group id, or NO_GROUP. `frame` is a whole request of `MEMBER_API_KEYS`, without its length."""
    try:
        length_and_one, begin = after_varint(frame, _fields_at(frame))
    except (IndexError, PeerViolation):
        return NO_GROUP
    end = begin + length_and_one - 1
    if end - begin > MAXIMUM_STRING_BYTES:
        return NO_GROUP
    # Bytes that are no text become what no group is called.
    return str(frame[begin:end], "utf-8", "surrogateescape") if begin < end <= len(frame) else NO_GROUP


def max_wait_ms_of(frame: memoryview) -> int:
    """Return the MaxWaitMs of a ShareFetch; 0 where it is not to be found, or negative."""
    try:
        position = after_compact_string(frame, after_compact_string(frame, _fields_at(frame)))
        _epoch, max_wait_ms = _EPOCH_AND_MAX_WAIT.unpack_from(frame, position)
    except (IndexError, PeerViolation, struct.error):
        return 0
    return max(int(max_wait_ms), 0)


def _fields_at(frame: memoryview) -> int:
    return after_tags(frame, after_string(frame, _CLIENT_ID_AT))
