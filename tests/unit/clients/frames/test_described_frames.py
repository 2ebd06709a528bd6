"""A frame is told with its API, its sender and its fields, or with the reason why not."""

import pytest

from kproxy.clients.frames.described_frames import (
    NoFrame,
    api_key_named,
    described_request,
    described_response,
)
from kproxy.wire.codecs import encode_request, encode_response
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse

REQUEST = b"".join(encode_request(78, 1, 7, "rdkafka", ShareFetchRequest(group_id="orders")))[4:]
RESPONSE = b"".join(encode_response(78, 1, 7, ShareFetchResponse(error_code=122)))[4:]


def test_a_request_is_told_with_its_header_and_its_fields() -> None:
    # When
    frame = described_request(REQUEST)

    # Then
    assert (frame.api_name, frame.version, frame.correlation_id, frame.client_id) == (
        "ShareFetch",
        1,
        7,
        "rdkafka",
    )
    assert frame.size_bytes == len(REQUEST) + 4
    assert frame.fields is not None
    assert frame.fields["groupId"] == "orders"


def test_a_response_is_told_by_the_api_and_version_of_its_request() -> None:
    # When
    frame = described_response(RESPONSE, 78, 1)

    # Then
    assert frame.fields is not None
    assert (frame.correlation_id, frame.fields["error"]) == (7, "SHARE_SESSION_NOT_FOUND")


def test_of_an_api_that_kproxy_does_not_read_the_header_is_told() -> None:
    # When
    frame = described_request(bytes.fromhex("0033 0000 00000009 0002 6d65 01"))

    # Then
    assert (frame.api_name, frame.client_id, frame.fields) == ("AlterUserScramCredentials", "me", None)
    assert frame.problem == "kproxy passes AlterUserScramCredentials on without reading it: no schema"


def test_a_body_that_is_cut_off_is_told_as_such() -> None:
    assert "ShareFetchRequest v1" in str(described_request(REQUEST[:-3]).problem)


@pytest.mark.parametrize("content", [b"", b"\0\x12", bytes.fromhex("0012 0003 00000001 0007 6b")])
def test_what_has_no_whole_header_is_no_request(content: bytes) -> None:
    with pytest.raises(NoFrame, match="no request"):
        described_request(content)


@pytest.mark.parametrize("name", ["ShareFetch", "sharefetch", "SHARE_FETCH", "78"])
def test_an_api_is_found_by_its_name_or_its_number(name: str) -> None:
    assert api_key_named(name) == 78


def test_an_api_that_nobody_knows_is_refused_by_name() -> None:
    with pytest.raises(NoFrame, match="'ShareFetsch'"):
        api_key_named("ShareFetsch")
