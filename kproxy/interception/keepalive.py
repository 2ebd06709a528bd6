"""The request that kproxy sends on a silent twin, so that its broker does not close it; where its own answers stand."""

from collections.abc import Iterable
from typing import Final

from kproxy.interception.response_slots import ResponseSlot, SlotKind
from kproxy.wire import codecs
from kproxy.wire.api_keys import ApiKey
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest

KEEPALIVE_CORRELATION_ID: Final = 0x6B707879
"""It only has to come back."""


def keepalive_slot() -> ResponseSlot:
    """Return the place of the answer, which is for kproxy itself."""
    return ResponseSlot(SlotKind.SWALLOW, ApiKey.API_VERSIONS, 0, KEEPALIVE_CORRELATION_ID)


def keepalive_request() -> list[bytes | memoryview]:
    """Return the frame."""
    client_id, message = "kproxy-keepalive", ApiVersionsRequest()
    return codecs.encode_request(ApiKey.API_VERSIONS, 0, KEEPALIVE_CORRELATION_ID, client_id, message)


def place_for_own(slots: Iterable[ResponseSlot]) -> int | None:
    """Return where among `slots` the answer to a request of kproxy's own stands that is sent now.

    That is behind those to its other ones, and in front of what kproxy has yet to answer; None while the broker owes
    the client a response, be it behind one of kproxy's that is made already.
    """
    place = 0
    for number, slot in enumerate(slots, start=1):
        if slot.kind is SlotKind.SWALLOW:
            place = number
        elif slot.kind is not SlotKind.LOCAL:
            return None
    return place
