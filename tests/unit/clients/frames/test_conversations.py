"""Requests and responses are found in captures, however their bytes were cut into packets."""

import pytest

from kproxy.clients.frames.captured_packets import segments_of
from kproxy.clients.frames.conversations import Unread, conversations_in
from kproxy.clients.frames.described_frames import DescribedFrame
from kproxy.wire.codecs import encode_request, encode_response
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from kproxy.wire.messages.share_fetch_response import ShareFetchResponse
from tests.unit.clients.frames.captures import BROKER, CLIENT, Capture


def request(correlation_id: int) -> bytes:
    return b"".join(encode_request(78, 1, correlation_id, "me", ShareFetchRequest(group_id="orders")))


def response(correlation_id: int) -> bytes:
    return b"".join(encode_response(78, 1, correlation_id, ShareFetchResponse(error_code=122)))


def told(capture: Capture, *ports: int) -> list[tuple[str, str, int] | str]:
    found = conversations_in(segments_of(capture.file()), ports=frozenset(ports))
    return [
        (each.kind, each.api_name, each.correlation_id) if isinstance(each, DescribedFrame) else each.problem
        for each in found
    ]


BOTH = [("request", "ShareFetch", 7), ("response", "ShareFetch", 7)]


@pytest.mark.parametrize("cut", [1, 4, 9, 30])
def test_a_request_in_two_packets_and_its_response_are_found(cut: int) -> None:
    # Given
    capture = Capture()
    capture.open()
    capture.send(request(7)[:cut])
    capture.send(request(7)[cut:])
    capture.answer(response(7))

    # When
    frames = told(capture)

    # Then
    assert frames == BOTH


def test_responses_are_known_by_correlation_id_whatever_stands_in_one_packet() -> None:
    # Given
    capture = Capture()
    capture.open()
    capture.send(request(1) + request(2) + request(3))
    capture.answer(response(1) + response(2))
    capture.answer(response(3))

    # When
    frames = told(capture)

    # Then
    assert [frame[2] for frame in frames if frame[0] == "response"] == [1, 2, 3]


def test_without_its_beginning_the_client_of_a_connection_is_found_by_a_whole_request() -> None:
    # Given
    capture = Capture()
    capture.answer(response(6))
    capture.send(request(7))
    capture.answer(response(7))

    # When
    frames = told(capture)

    # Then
    assert frames == BOTH


def test_where_brokers_are_may_be_told() -> None:
    # Given
    capture = Capture()
    capture.send(b"the end of a frame")
    capture.send(request(7))
    capture.answer(response(7))

    # When
    frames = told(capture, BROKER[1])

    # Then
    assert frames == ["bytes that begin no frame: passed over until one does", *BOTH]


def test_after_a_packet_that_was_not_captured_frames_are_found_again() -> None:
    # Given
    capture = Capture()
    capture.open()
    capture.send(request(5), is_captured=False)
    for number in range(300):
        capture.send(request(number + 10).ljust(60_000, b"\0"))
    capture.send(request(7))
    capture.answer(response(7))

    # When
    frames = told(capture)

    # Then
    assert f"the capture lacks {len(request(5))} bytes" in frames
    assert frames[-2:] == BOTH


def test_tls_is_named() -> None:
    # Given
    capture = Capture()
    capture.open()
    capture.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc")

    # When
    found = list(conversations_in(segments_of(capture.file())))

    # Then
    assert [(each.connection, "TLS" in each.problem) for each in found if isinstance(each, Unread)] == [
        (f"{CLIENT[0]}:{CLIENT[1]} > {BROKER[0]}:{BROKER[1]}", True)
    ]
