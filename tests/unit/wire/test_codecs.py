"""The public functions, with both codecs behind them. Expected bytes are written out field by field."""

from collections.abc import Iterator
from typing import Any

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.codecs import (
    DecodedRequest,
    UnencodableMessage,
    decode,
    decode_request,
    decode_request_header,
    decode_response,
    encode,
    encode_elements,
    encode_request,
    encode_response,
    encode_response_around,
    request_class,
    response_class,
    select_codec,
    valid_versions,
)
from kproxy.wire.messages import fetch_response, produce_request
from kproxy.wire.messages.api_versions_request import ApiVersionsRequest
from kproxy.wire.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kproxy.wire.messages.fetch_response import FetchResponse
from kproxy.wire.messages.find_coordinator_request import FindCoordinatorRequest
from kproxy.wire.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from kproxy.wire.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kproxy.wire.messages.metadata_request import MetadataRequest
from kproxy.wire.messages.produce_request import ProduceRequest
from kproxy.wire.messages.sasl_handshake_request import SaslHandshakeRequest
from kproxy.wire.messages.sasl_handshake_response import SaslHandshakeResponse
from kproxy.wire.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kproxy.wire.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kproxy.wire.messages.share_snapshot_key import ShareSnapshotKey
from tests.worlds.both_codecs import CODEC_KINDS, CodecKind

HEARTBEAT = ShareGroupHeartbeatRequest("orders", "m1", 0, None, ["t"])
HEARTBEAT_BODY = b"\x07orders" + b"\x03m1" + b"\x00\x00\x00\x00" + b"\x00" + b"\x02\x02t" + b"\x00"
HEARTBEAT_FRAME = (
    b"\x00\x4c"  # API key 76
    b"\x00\x01"  # version 1
    b"\x00\x00\x00\x09"  # correlation id
    b"\x00\x03app"  # client id, never compact
    b"\x00"  # no tagged fields in the header
) + HEARTBEAT_BODY

SASL_FRAME = b"\x00\x11\x00\x01\x00\x00\x00\x02\xff\xff" + b"\x00\x05PLAIN"
"""Never flexible: header version 1, here with a null client id."""


@pytest.fixture(params=CODEC_KINDS, autouse=True)
def codec_kind(request: pytest.FixtureRequest) -> Iterator[CodecKind]:
    select_codec(request.param)
    yield request.param
    select_codec("emitted")


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def test_a_message_is_encoded_and_decoded() -> None:
    assert encode(HEARTBEAT, 1) == [HEARTBEAT_BODY]
    assert decode(ShareGroupHeartbeatRequest, 1, HEARTBEAT_BODY) == HEARTBEAT
    assert decode(ShareGroupHeartbeatRequest, 1, memoryview(HEARTBEAT_BODY)) == HEARTBEAT


def test_a_state_log_key_is_a_message_too() -> None:
    key = ShareSnapshotKey("g", bytes(range(16)), 3)
    assert encode(key, 0) == [b"\x00\x01g" + bytes(range(16)) + b"\x00\x00\x00\x03"]


def test_a_request_of_a_flexible_version_has_tagged_fields_in_its_header() -> None:
    assert b"".join(encode_request(76, 1, 9, "app", HEARTBEAT)) == framed(HEARTBEAT_FRAME)
    assert decode_request(HEARTBEAT_FRAME) == DecodedRequest(76, 1, 9, "app", HEARTBEAT)


def test_a_request_of_an_older_version_has_none() -> None:
    message = SaslHandshakeRequest("PLAIN")
    assert b"".join(encode_request(17, 1, 2, None, message)) == framed(SASL_FRAME)
    assert decode_request(SASL_FRAME) == DecodedRequest(17, 1, 2, None, message)


def test_tagged_fields_of_a_request_header_are_skipped() -> None:
    newer = HEARTBEAT_FRAME.replace(b"app\x00", b"app\x01\x05\x02hi", 1)
    assert decode_request(newer) == DecodedRequest(76, 1, 9, "app", HEARTBEAT)


def test_a_response_has_the_header_that_goes_with_its_version() -> None:
    # Given
    flexible = ShareGroupHeartbeatResponse(member_id="m1", member_epoch=1, heartbeat_interval_ms=5000)
    older = SaslHandshakeResponse(33, ["PLAIN"])
    flexible_frame = (
        b"\x00\x00\x00\x09\x00"  # header version 1: correlation id, no tagged fields
        b"\x00\x00\x00\x00"  # throttle time
        b"\x00\x00"  # error code
        b"\x00"  # error message
        b"\x03m1"
        b"\x00\x00\x00\x01"  # member epoch
        b"\x00\x00\x13\x88"  # heartbeat interval
        b"\xff"  # null assignment
        b"\x00"
    )
    older_frame = b"\x00\x00\x00\x02" + b"\x00\x21" + b"\x00\x00\x00\x01\x00\x05PLAIN"

    # When
    encoded = [b"".join(encode_response(*of)) for of in ((76, 1, 9, flexible), (17, 1, 2, older))]

    # Then
    assert encoded == [framed(flexible_frame), framed(older_frame)]
    assert decode_response(76, 1, flexible_frame) == (9, flexible)
    assert decode_response(17, 1, older_frame) == (2, older)


def test_an_api_versions_response_never_has_a_flexible_header() -> None:
    # Given
    message = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4)])
    frame = (
        b"\x00\x00\x00\x01"  # correlation id, and nothing behind it
        b"\x00\x00"  # error code
        b"\x02\x00\x12\x00\x00\x00\x04\x00"  # one API
        b"\x00\x00\x00\x00"  # throttle time
        b"\x00"
    )

    # When
    encoded = b"".join(encode_response(18, 3, 1, message))

    # Then
    assert encoded == framed(frame)
    assert decode_response(18, 3, frame) == (1, message)


def test_an_api_versions_response_that_refuses_the_version_is_read_as_version_0() -> None:
    """KIP-511: an older broker answers so, whatever version was asked for."""
    frame = b"\x00\x00\x00\x01" + b"\x00\x23" + b"\x00\x00\x00\x01\x00\x12\x00\x00\x00\x03"
    refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 3)])
    assert decode_response(18, 4, frame) == (1, refusal)


def test_records_stay_views_and_chunks() -> None:
    # Given
    batch = memoryview(b"a record batch")
    partition = produce_request.PartitionProduceData(0, batch)
    message = ProduceRequest(topic_data=[produce_request.TopicProduceData("t", partition_data=[partition])])

    # When
    chunks = encode_request(0, 9, 1, "app", message)

    # Then
    assert chunks[1] is batch
    received = b"".join(chunks)[4:]
    decoded: Any = decode_request(received).message
    records = decoded.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is received
    assert decoded == message


def test_empty_records_are_no_chunk() -> None:
    partition = fetch_response.PartitionData(records=b"")
    message = FetchResponse(responses=[fetch_response.FetchableTopicResponse("t", partitions=[partition])])
    assert len(encode_response(1, 12, 1, message)) == 1


MALFORMED_REQUESTS = {
    "nothing": b"",
    "less than key and version": b"\x00\x4c\x00",
    "an API without schema": b"\x00\x08\x00\x01\x00\x00\x00\x09\x00\x00",
    "no API at all": b"\x7f\xff\x00\x01\x00\x00\x00\x09\x00\x00",
    "a version that is too new": b"\x00\x4c\x00\x02" + HEARTBEAT_FRAME[4:],
    "a version that is too old": b"\x00\x4c\x00\x00" + HEARTBEAT_FRAME[4:],
    "a negative version": b"\x00\x4c\xff\xff" + HEARTBEAT_FRAME[4:],
    "a client id that is no text": HEARTBEAT_FRAME.replace(b"app", b"\xff\xff\xff", 1),
    "a group id that is no text": HEARTBEAT_FRAME.replace(b"orders", b"\xff" * 6, 1),
    "HTTP": b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
}


@pytest.mark.parametrize("frame", MALFORMED_REQUESTS.values(), ids=MALFORMED_REQUESTS)
def test_a_request_that_cannot_be_is_malformed(frame: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_request(frame)


def test_bytes_behind_a_request_are_ignored() -> None:
    """Brokers do so, and librdkafka relies on it (Metadata 12 for all topics)."""
    assert decode_request(HEARTBEAT_FRAME + bytes(3)).message == HEARTBEAT


def test_bytes_behind_a_response_are_malformed() -> None:
    with pytest.raises(MalformedMessage, match=r"^SaslHandshakeResponse v1: 1 byte too many$"):
        decode_response(17, 1, b"\x00\x00\x00\x02" + b"\x00\x21" + b"\x00\x00\x00\x00" + b"\x00")


def test_a_frame_cut_anywhere_is_malformed() -> None:
    for size in range(len(HEARTBEAT_FRAME)):
        with pytest.raises(MalformedMessage):
            decode_request(HEARTBEAT_FRAME[:size])
    for api_key, message in ((76, ShareGroupHeartbeatResponse()), (18, ApiVersionsResponse())):
        response = b"".join(encode_response(api_key, 1, 9, message))[4:]
        for size in range(len(response)):
            with pytest.raises(MalformedMessage):
                decode_response(api_key, 1, response[:size])


def test_a_response_of_an_api_without_schema_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="no schema for a response of API key 61"):
        decode_response(61, 0, bytes(10))


def test_a_response_of_a_version_without_schema_is_malformed() -> None:
    with pytest.raises(MalformedMessage, match="ShareGroupHeartbeatResponse has no version 9"):
        decode_response(76, 9, bytes(10))


def test_what_is_malformed_is_named() -> None:
    with pytest.raises(MalformedMessage, match=r"^ShareGroupHeartbeatRequest v1: 1 byte too many$"):
        decode(ShareGroupHeartbeatRequest, 1, HEARTBEAT_BODY + b"\x00")


UNENCODABLE: dict[str, tuple[Any, int, str]] = {
    "no such version": (HEARTBEAT, 2, "ShareGroupHeartbeatRequest v2"),
    "a number out of range": (
        ShareGroupHeartbeatRequest(member_epoch=2**31),
        1,
        "ShareGroupHeartbeatRequest v1",
    ),
    "null": (ShareGroupHeartbeatRequest(group_id=None), 1, "ShareGroupHeartbeatRequest v1"),  # type: ignore[arg-type]
    "a number as text": (ShareGroupHeartbeatRequest(group_id=7), 1, "ShareGroupHeartbeatRequest v1"),  # type: ignore[arg-type]
    "half a surrogate pair": (ShareGroupHeartbeatRequest("\ud800"), 1, "ShareGroupHeartbeatRequest v1"),
    "a field that the version lacks": (FindCoordinatorRequest(key="g"), 4, "this version has no key"),
    "null topics in version 0": (MetadataRequest(topics=None), 0, "MetadataRequest v0"),
}


@pytest.mark.parametrize(("message", "version", "reason"), UNENCODABLE.values(), ids=UNENCODABLE)
def test_what_cannot_be_sent_is_refused_and_named(message: Any, version: int, reason: str) -> None:
    with pytest.raises(UnencodableMessage, match=reason):
        encode(message, version)


def test_a_message_is_sent_under_its_own_api_key_only() -> None:
    with pytest.raises(
        UnencodableMessage, match=r"ShareGroupHeartbeatRequest is no such message of API key 78"
    ):
        encode_request(78, 1, 9, "app", HEARTBEAT)
    with pytest.raises(UnencodableMessage, match="ApiVersionsResponse is no such message of API key 1000"):
        encode_response(1000, 1, 9, ApiVersionsResponse())


def test_classes_and_versions_are_found_by_api_key() -> None:
    assert request_class(18) is ApiVersionsRequest
    assert response_class(18) is ApiVersionsResponse
    assert (valid_versions(0), valid_versions(1), valid_versions(78)) == ((3, 13), (4, 18), (1, 2))


@pytest.mark.parametrize("lookup", [request_class, response_class, valid_versions])
def test_an_api_without_schema_is_not_found(lookup: Any) -> None:
    with pytest.raises(KeyError):
        lookup(61)


def test_the_construct_trees_are_really_used_when_selected(codec_kind: CodecKind) -> None:
    """Only the trees name a place as construct does."""
    with pytest.raises(MalformedMessage) as refusal:
        decode(ShareGroupHeartbeatRequest, 1, b"\x07ord")
    assert ("(parsing) -> group_id" in str(refusal.value)) == (codec_kind == "construct")


def test_the_header_of_a_request_is_read_without_the_request() -> None:
    frame = b"".join(encode_request(76, 1, 7, "client", HEARTBEAT))[4:]

    header = decode_request_header(frame[:-3])

    assert (header.request_api_key, header.correlation_id, header.client_id) == (76, 7, "client")
    with pytest.raises(MalformedMessage, match="a request of 3 bytes"):
        decode_request_header(frame[:3])
    with pytest.raises(MalformedMessage, match="no schema for a request of API key 32000"):
        decode_request_header(b"\x7d\x00\x00\x00")


@pytest.mark.parametrize("sizes", [(), (1,), (126, 1), (3, 0, 200)])
@pytest.mark.parametrize("version", range(6))
def test_an_array_that_is_encoded_in_portions_is_the_same_on_the_wire(
    version: int, sizes: tuple[int, ...]
) -> None:
    # Given
    tags = ((7, b"tag"),) if version >= 3 else ()
    around = ListGroupsResponse(5 if version >= 1 else 0, 0, unknown_tagged_fields=tags)
    lists = [[ListedGroup(f"g{n}", "share", "Empty", "share") for n in range(size)] for size in sizes]
    whole = ListGroupsResponse(
        around.throttle_time_ms,
        0,
        [each for portion in lists for each in portion],
        unknown_tagged_fields=tags,
    )

    # When
    portions = [encode_elements(ListGroupsResponse, version, "groups", portion) for portion in lists]
    frame = encode_response_around(16, version, 9, around, count=sum(sizes), portions=portions)

    # Then
    assert b"".join(frame) == b"".join(encode_response(16, version, 9, whole))


@pytest.mark.parametrize("version", [0, 1])
def test_an_array_of_resources_that_is_encoded_in_portions_is_the_same_on_the_wire(version: int) -> None:
    resources = [ConfigResource("a", 16), ConfigResource("b", 16)]

    portions = [
        encode_elements(ListConfigResourcesResponse, version, "config_resources", [each])
        for each in resources
    ]

    around = ListConfigResourcesResponse(throttle_time_ms=5)
    whole = ListConfigResourcesResponse(5, 0, resources)
    assert b"".join(encode_response_around(74, version, 9, around, count=2, portions=portions)) == b"".join(
        encode_response(74, version, 9, whole)
    )


def test_a_response_of_another_api_is_not_encoded_around_portions() -> None:
    with pytest.raises(UnencodableMessage):
        encode_response_around(74, 1, 9, ListGroupsResponse(), count=0, portions=[])
