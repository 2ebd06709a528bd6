"""Peers that lie: about lengths, correlation ids, versions, tags and arrays. What came before the lie has passed."""

import struct

import pytest

from kproxy.errors import PeerViolation
from kproxy.wire import codecs
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.fetch_request import FetchRequest
from kproxy.wire.messages.fetch_response import FetchResponse, NodeEndpoint
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.metadata_response import MetadataResponse
from kproxy.wire.messages.share_fetch_request import ShareFetchRequest
from tests.transcripts.transcript import BROKER, CHUNK_SIZES, CLIENT, Answers, Anything, Refuses, Step, play
from tests.worlds.conversing import (
    Conversation,
    opaque_request,
    opaque_response,
    request,
    response,
)

pytestmark = pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)

SHARE_FETCH = request(78, 1, 20, ShareFetchRequest(group_id="g"))
METADATA = request(3, 12, 30, MetadataRequest())
FETCH = request(1, 17, 40, FetchRequest())
VERSIONS = request(18, 3, 50, ApiVersionsRequest())


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def head(api_key: int, version: int) -> bytes:
    return struct.pack(">hhi", api_key, version, 1)


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (bytes(12), "frame_too_short"),
        (struct.pack(">i", 7) + bytes(8), "frame_too_short"),
        (struct.pack(">i", -1) + bytes(8), "frame_length_negative"),
        (struct.pack(">i", (1 << 20) + 1) + head(12, 4), "frame_too_large"),
        (struct.pack(">i", 2**31 - 1) + head(0, 9), "frame_too_large"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "tls_on_plaintext"),
        (b"\x16\x03\x03", None),
        (b"GET / HTTP/1.1\r\n", "http_on_kafka_port"),
        (b"POST / HTTP/1.1\r\n", "http_on_kafka_port"),
        (b"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n", "proxy_header"),
        (b"\r\n\r\n\x00\r\nQUIT\n", "proxy_header"),
        (frame(head(4, 1)), "unknown_api_key"),
        (frame(head(-1, 0)), "unknown_api_key"),
        (frame(head(77, 1)), "unknown_api_key"),
        (frame(head(3, -1)), "version_not_advertised"),
        (frame(head(0, 14)), "version_not_advertised"),
        (frame(head(17, 0)), "version_not_advertised"),
        (frame(head(0, 9)), "malformed_request"),
        (frame(head(0, 9) + b"\xff\xff" + b"\xff" * 9), "malformed_request"),
        (frame(head(0, 9) + b"\xff\xff" + b"\xff\xff\xff\xff\x0f" + bytes(40)), "malformed_request"),
        (frame(head(78, 1) + b"\xff\xff\x00" + b"\xff\xff\xff\xff\x07"), "malformed_request"),
        (frame(head(10, 4) + b"\xff\xff\x00\x00" + b"\xff\xff\xff\xff\x07"), "malformed_request"),
        (frame(head(10, 0) + b"\x7f\xff"), "malformed_request"),
    ],
)
def test_a_client_that_lies_is_refused_with_the_reason_behind_what_it_said_before(
    lie: bytes, reason: str | None, chunk_bytes: int
) -> None:
    steps: list[Step] = [CLIENT >> opaque_request(1) + lie, BROKER << opaque_request(1)]
    if reason is not None:
        steps.append(Refuses(reason))

    play(*steps, chunk_bytes=chunk_bytes)


def test_a_lie_behind_a_request_that_kproxy_answers_is_found_when_its_turn_comes(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH + opaque_request(1) + frame(head(999, 0)),
        Answers(b"fetched"),
        Refuses("unknown_api_key"),
        CLIENT << b"fetched",
        BROKER << opaque_request(1),
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (opaque_response(3), "correlation_id_mismatch"),
        (struct.pack(">i", 3) + bytes(4), "frame_too_short"),
        (struct.pack(">i", -2) + bytes(4), "frame_too_short"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "tls_on_plaintext"),
        (b"HTTP/1.1 400 Bad Request\r\n", "http_on_kafka_port"),
    ],
)
def test_a_broker_that_lies_is_refused_behind_what_it_answered_before(
    lie: bytes, reason: str, chunk_bytes: int
) -> None:
    play(
        CLIENT >> opaque_request(1) + opaque_request(2),
        BROKER << opaque_request(1) + opaque_request(2),
        BROKER >> opaque_response(1) + lie,
        CLIENT << opaque_response(1),
        Refuses(reason),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_answers_twice_is_refused(chunk_bytes: int) -> None:
    play(
        CLIENT >> opaque_request(1),
        BROKER << opaque_request(1),
        BROKER >> opaque_response(1) * 2,
        CLIENT << opaque_response(1),
        Refuses("unsolicited_response"),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_answers_what_only_kproxy_can_answer_is_refused(chunk_bytes: int) -> None:
    play(
        CLIENT >> SHARE_FETCH,
        BROKER >> opaque_response(20),
        Refuses("unsolicited_response"),
        chunk_bytes=chunk_bytes,
    )


def test_a_broker_that_speaks_first_is_refused(chunk_bytes: int) -> None:
    play(BROKER >> opaque_response(0), Refuses("unsolicited_response"), chunk_bytes=chunk_bytes)


@pytest.mark.parametrize(
    ("asked", "correlation_id", "body"),
    [
        (METADATA, 30, b""),
        (METADATA, 30, b"\x00" + bytes(4) + b"\xff\xff\xff\xff\x07"),
        (METADATA, 30, b"\x01\x05\xff\xff\xff\xff\x07" + bytes(40)),
        (VERSIONS, 50, b""),
        (VERSIONS, 50, b"\x00\x23\x7f\xff\xff\xff"),
        (VERSIONS, 50, b"\x00\x00" + b"\x80\x80\x80\x80\x80\x01"),
        (FETCH, 40, b""),
        (FETCH, 40, b"\x00" + bytes(10) + b"\x02" + bytes(16) + b"\xff\xff\xff\xff\x0f"),
        (FETCH, 40, b"\x00" + bytes(10) + b"\x01" + b"\x01" + b"\x80\x00" + b"\x01\x00"),
        (FETCH, 40, b"\x00" + bytes(10) + b"\x01\x00" + b"more"),
        (FETCH, 40, b"\xff\xff\xff\xff\xff\x01" + bytes(40)),
    ],
)
def test_a_broker_whose_answer_is_none_is_refused(
    asked: bytes, correlation_id: int, body: bytes, chunk_bytes: int
) -> None:
    """Lengths, counts and tags that lead out of the frame; whatever has streamed on by then does not matter."""
    answer = frame(struct.pack(">i", correlation_id) + body)
    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> answer,
        Anything(CLIENT),
        Refuses("malformed_response"),
        chunk_bytes=chunk_bytes,
    )


def test_tags_that_nobody_knows_pass_in_both_directions_in_rising_order(chunk_bytes: int) -> None:
    tags = ((3, b"three"), (200, b"two hundred"))
    asked = request(3, 9, 30, MetadataRequest(unknown_tagged_fields=tags))
    answer = response(3, 9, 30, MetadataResponse(cluster_id="c", unknown_tagged_fields=tags))

    play(
        CLIENT >> asked,
        BROKER << asked,
        BROKER >> answer,
        CLIENT << answer,
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("count", [1, 3])
def test_addresses_behind_the_records_of_a_fetch_are_hidden_however_many_there_are(
    count: int, chunk_bytes: int
) -> None:
    endpoints = [NodeEndpoint(node_id=number, host="broker", port=9092) for number in range(count)]
    leaking = response(1, 17, 40, FetchResponse(node_endpoints=endpoints))
    conversation = play(CLIENT >> FETCH, BROKER << FETCH, chunk_bytes=chunk_bytes)
    hidden = b"".join(
        conversation.broker_sends(leaking[start : start + chunk_bytes])
        for start in range(0, len(leaking), chunk_bytes)
    )

    _, message = codecs.decode_response(1, 17, hidden[4:])

    assert len(hidden) == len(leaking)
    assert isinstance(message, FetchResponse)
    assert message.node_endpoints == []
    assert [tag for tag, _ in message.unknown_tagged_fields] == [0x7F]


@pytest.mark.parametrize(
    ("api_key", "reason"), [(10, "frame_too_large"), (12, None)], ids=["looked-into", "passed-on"]
)
def test_a_request_too_large_to_be_looked_into_is_refused_before_it_is_held(
    api_key: int, reason: str | None, chunk_bytes: int
) -> None:
    announced = struct.pack(">i", 8 * 1024 * 1024 - 3) + head(api_key, 4)
    passed_on: Step = BROKER << announced

    play(
        CLIENT >> announced,
        passed_on if reason is None else Refuses(reason),
        conversation=Conversation(max_request_bytes=100 << 20),
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("key_type", [0, 2])
def test_a_search_for_more_coordinators_than_there_can_be_groups_is_refused(
    key_type: int, chunk_bytes: int
) -> None:
    if chunk_bytes < 100:
        chunk_bytes *= 10_000  # A hundred thousand chunks would only take time.
    keys = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[""] * 100_001)

    play(CLIENT >> request(10, 6, 1, keys), Refuses("malformed_request"), chunk_bytes=chunk_bytes)


@pytest.mark.parametrize(
    ("from_client", "from_broker", "named"),
    [
        (opaque_request(1), opaque_response(2), "API key 12 version 4"),
        (METADATA, struct.pack(">ii", 2 << 20, 30), "API key 3 version 12"),
        (struct.pack(">i", 16 << 20) + head(10, 4), b"", "API key 10 version 4"),
        (frame(head(76, 1) + b"\xff\xff\x00\xff"), b"", "API key 76 version 1"),
    ],
    ids=["another-answer", "an-answer-too-large", "a-request-too-large", "a-malformed-request"],
)
def test_a_refusal_names_the_api_and_the_version(
    from_client: bytes, from_broker: bytes, named: str, chunk_bytes: int
) -> None:
    conversation = Conversation(max_request_bytes=100 << 20 if not from_broker else 1 << 20)

    with pytest.raises(PeerViolation, match=named):
        converse(conversation, from_client, from_broker, chunk_bytes)


def converse(conversation: Conversation, from_client: bytes, from_broker: bytes, chunk_bytes: int) -> None:
    for start in range(0, len(from_client), chunk_bytes):
        conversation.client_sends(from_client[start : start + chunk_bytes])
    for start in range(0, len(from_broker), chunk_bytes):
        conversation.broker_sends(from_broker[start : start + chunk_bytes])
