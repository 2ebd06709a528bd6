"""The request that kproxy sends on a silent twin, so that its broker does not close it."""

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
