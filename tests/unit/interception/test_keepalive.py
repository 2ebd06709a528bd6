"""The request on a silent twin."""

from kproxy.interception.keepalive import KEEPALIVE_CORRELATION_ID, keepalive_request, keepalive_slot
from kproxy.wire import codecs


def test_what_comes_back_has_the_place_of_what_was_asked() -> None:
    # When
    asked = codecs.decode_request(memoryview(b"".join(keepalive_request()))[4:])

    # Then
    slot = keepalive_slot()
    assert (asked.api_key, asked.api_version) == (slot.api_key, slot.api_version)
    assert asked.correlation_id == slot.correlation_id == KEEPALIVE_CORRELATION_ID
