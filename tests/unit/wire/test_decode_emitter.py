"""The decoding half of emitted codecs: what it reads, how, and that it never reads past the end."""

import struct
from typing import Any

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire import codecs
from kproxy.wire.codec_emitter import EmittedCodec
from kproxy.wire.codec_source import CodecSource
from kproxy.wire.decode_emitter import DecodeEmitter
from kproxy.wire.message_struct import MessageStruct, message_struct
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.list_groups_request import ListGroupsRequest
from kproxy.wire.messages.request_header import RequestHeader
from kproxy.wire.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from kproxy.wire.messages.share_group_describe_request import ShareGroupDescribeRequest
from kproxy.wire.primitives import WireConstruct
from kproxy.wire.varints import encode_varint
from tests.unit.wire.sample_message import SAMPLE, SAMPLE_V0, SAMPLE_V2, Point, SampleMessage

FAILURES = (MalformedMessage, IndexError, struct.error)
"""What a decode function may raise; `codecs` makes MalformedMessage of all."""


def decoder(message_class: Any, version: int, *, reads_in_place: bool) -> Any:
    source = CodecSource()
    DecodeEmitter(source, reads_in_place=reads_in_place).emit(message_struct(message_class, version))
    exec(source.text, source.namespace)
    return source.namespace["decode"]


@pytest.mark.parametrize("reads_in_place", [True, False])
@pytest.mark.parametrize("buffer_type", [bytes, bytearray, memoryview])
@pytest.mark.parametrize(("version", "encoded"), [(0, SAMPLE_V0), (2, SAMPLE_V2)])
def test_every_kind_of_buffer_is_read(
    version: int, encoded: bytes, buffer_type: Any, *, reads_in_place: bool
) -> None:
    decode = decoder(SampleMessage, version, reads_in_place=reads_in_place)
    assert decode(buffer_type(encoded), 0) == (SAMPLE, len(encoded))


@pytest.mark.parametrize("reads_in_place", [True, False])
@pytest.mark.parametrize(("version", "encoded"), [(0, SAMPLE_V0), (2, SAMPLE_V2)])
def test_a_message_cut_anywhere_is_refused(version: int, encoded: bytes, *, reads_in_place: bool) -> None:
    decode = decoder(SampleMessage, version, reads_in_place=reads_in_place)
    for size in range(len(encoded)):
        with pytest.raises(FAILURES):
            decode(encoded[:size], 0)


def test_values_of_fixed_width_are_read_together() -> None:
    source = EmittedCodec(SampleMessage, 2).source_of_decode().text
    assert (
        "message.flag, message.ratio, message.port, message.size, message.topic_id, number_1 = "
        "unpack_from_booldHI16sB(buffer, position)"
    ) in source


def test_records_are_views_into_the_received_buffer() -> None:
    # Given
    message = FetchResponse(
        responses=[FetchableTopicResponse("t", partitions=[PartitionData(records=b"batch")])]
    )
    codec = EmittedCodec(FetchResponse, 12)
    received = bytearray(b"".join(codec.encode(message)))

    # When
    decoded: Any = codec.decode(memoryview(received), 0)[0]
    received[received.index(b"batch")] = ord("B")

    # Then
    assert decoded.responses[0].partitions[0].records == b"Batch"


def test_a_header_is_read_where_it_stands() -> None:
    """The body behind it may be megabytes of records, which must not be copied for the sake of twelve bytes."""
    source = EmittedCodec(RequestHeader, 2).source_of_decode().text
    assert "bytes(buffer)" not in source


def test_what_is_wrong_is_named_with_its_place() -> None:
    codec = EmittedCodec(SampleMessage, 0)
    with pytest.raises(MalformedMessage, match=r"^points\.label: length 5 at byte 75 of 76$"):
        codec.decode(SAMPLE_V0[:-2] + b"\x05b", 0)


@pytest.mark.parametrize(
    ("version", "position", "wrong", "reason"),
    [
        (0, 31, b"\x7f\xff\xff\xff", "topic_ids: 2147483647 elements"),
        (0, 31, b"\xff\xff\xff\xff", "topic_ids: -1 elements"),
        (0, 51, b"\x7f\xff\xff\xff", "flags: 2147483647 elements"),
        (0, 51, b"\xff\xff\xff\xfe", "flags: -2 elements"),
        (0, 57, b"\x7f\xff\xff\xff", "payload: length 2147483647"),
        (2, 31, b"\xff\xff\xff\xff\x0f", "topic_ids: 4294967294 elements"),
        (2, 31, b"\x00", "topic_ids: -1 elements"),
        (2, 48, b"\xff\xff\xff\xff\x0f", "flags: length 4294967295"),
    ],
)
def test_a_length_that_cannot_be_is_refused_before_anything_is_made_of_it(
    version: int, position: int, wrong: bytes, reason: str
) -> None:
    encoded = SAMPLE_V0 if version == 0 else SAMPLE_V2
    codec = EmittedCodec(SampleMessage, version)
    with pytest.raises(MalformedMessage, match=reason):
        codec.decode(encoded[:position] + wrong + encoded[position + len(wrong) :], 0)


def test_a_marker_of_a_struct_says_null_or_present() -> None:
    codec = EmittedCodec(SampleMessage, 0)
    marker = SAMPLE_V0.index(b"xyz") + 3
    with pytest.raises(MalformedMessage, match="point: 2 says neither null nor present"):
        codec.decode(SAMPLE_V0[:marker] + b"\x02" + SAMPLE_V0[marker + 1 :], 0)


def test_a_tagged_field_ends_where_its_size_says() -> None:
    codec = EmittedCodec(SampleMessage, 2)
    with pytest.raises(MalformedMessage, match="tagged_size: a tagged field that should end at byte"):
        codec.decode(SAMPLE_V2[:-1] + b"\x01\x04\x03\x00\x05\x00", 0)


def test_a_string_longer_than_kafka_allows_is_refused() -> None:
    # Given
    codec = EmittedCodec(SampleMessage, 2)
    before, after = SAMPLE_V2.split(b"\xff\xff\xff\xff\x01", 1)

    def with_hint(size: int) -> bytes:
        return before + b"\xff\xff\xff\xff" + encode_varint(size + 1) + b"a" * size + after

    # When
    longest: Any = codec.decode(with_hint(32767), 0)[0]

    # Then
    assert longest.hint == "a" * 32767
    with pytest.raises(MalformedMessage, match="hint: length 32769"):
        codec.decode(with_hint(32768), 0)


class Unheard(WireConstruct):
    """A leaf that somebody added without telling the emitters."""

    minimum_size = 1


def test_a_construct_that_the_emitter_does_not_know_is_a_broken_invariant() -> None:
    tree = MessageStruct(Point, "x" / Unheard())
    with pytest.raises(AssertionError, match="no code for"):
        DecodeEmitter(CodecSource(), reads_in_place=False).emit(tree)


def test_a_request_of_more_elements_than_anybody_needs_is_refused_before_they_are_read() -> None:
    """However they are spread over its arrays: decoding cannot be interrupted."""
    # Given
    topics = [FetchTopic(b"t" * 16, [FetchPartition(0)] * 30_000) for _ in range(2)]
    request = ShareFetchRequest(group_id="g", member_id="m", topics=topics)
    codec = EmittedCodec(ShareFetchRequest, 2)
    encoded = b"".join(bytes(chunk) for chunk in codec.encode(request))

    # When / Then
    with pytest.raises(MalformedMessage, match="elements in one request: more than 50000"):
        codec.decode(encoded, 0)


def test_a_request_that_names_nothing_but_kinds_has_a_thousand_elements_at_most() -> None:
    def listing(count: int) -> bytes:
        states = [f"state-{number}" for number in range(count)]
        return b"".join(codecs.encode_request(16, 5, 1, "", ListGroupsRequest(states_filter=states)))[4:]

    codecs.decode_request(listing(1_000))

    with pytest.raises(MalformedMessage, match="elements in one request: more than 1000"):
        codecs.decode_request(listing(1_001))


def test_a_string_of_a_request_counts_as_much_as_any_element() -> None:
    """An answer has a struct for each."""
    # Given
    codec = EmittedCodec(ShareGroupDescribeRequest, 1)

    def encoded(count: int) -> bytes:
        request = ShareGroupDescribeRequest(group_ids=["g"] * count)
        return b"".join(bytes(chunk) for chunk in codec.encode(request))

    # When
    most, _ = codec.decode(encoded(50_000), 0)

    # Then
    assert isinstance(most, ShareGroupDescribeRequest)
    assert len(most.group_ids) == 50_000
    with pytest.raises(MalformedMessage, match="elements in one request: more than 50000"):
        codec.decode(encoded(50_001), 0)


def test_a_response_may_have_any_number_of_elements() -> None:
    # Given
    response = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[PartitionData()] * 60_000)])
    codec = EmittedCodec(FetchResponse, 4)
    encoded = b"".join(bytes(chunk) for chunk in codec.encode(response))

    # When
    decoded, _ = codec.decode(encoded, 0)

    # Then
    assert isinstance(decoded, FetchResponse)
    assert len(decoded.responses[0].partitions) == 60_000


@pytest.mark.parametrize("place", ["header", "topics", "end"])
def test_an_unknown_tagged_field_of_a_request_counts_for_two_of_its_elements(place: str) -> None:
    """Each takes two bytes at least, and a microsecond, and another one where the request is passed on."""
    # Given
    request = ShareFetchRequest(group_id="g", member_id="m", topics=[FetchTopic(b"t" * 16, [])])
    frame = b"".join(codecs.encode_request(78, 2, 1, "", request))[4:]
    at = {"header": 10, "topics": len(frame) - 3, "end": len(frame) - 1}[place]
    assert frame[at] == 0

    def tagged(count: int) -> bytes:
        tags = b"".join(encode_varint(1000 + number) + b"\x00" for number in range(count))
        return frame[:at] + encode_varint(count) + tags + frame[at + 1 :]

    # When
    decoded = codecs.decode_request(tagged(20_000))

    # Then
    assert decoded.message is not None
    with pytest.raises(MalformedMessage, match="elements in one request: more than 50000"):
        codecs.decode_request(tagged(30_000))


def test_numbers_of_a_request_count_for_little() -> None:
    # Given
    codec = EmittedCodec(ShareFetchRequest, 2)

    def forgetting(count: int) -> bytes:
        topics = [ForgottenTopic(b"t" * 16, [0] * (count // 2))] * 2
        request = ShareFetchRequest(group_id="g", member_id="m", forgotten_topics_data=topics)
        return b"".join(bytes(chunk) for chunk in codec.encode(request))

    # When
    decoded: Any = codec.decode(forgetting(900_000), 0)[0]

    # Then
    assert len(decoded.forgotten_topics_data) == 2
    with pytest.raises(MalformedMessage, match="elements in one request: more than 50000"):
        codec.decode(forgetting(1_100_000), 0)


@pytest.mark.parametrize(("partition_count", "type_count"), [(500, 500), (5_000, 50), (10_000, 20)])
def test_an_acknowledgement_of_very_many_records_of_many_partitions_is_no_more_than_is_served(
    partition_count: int, type_count: int
) -> None:
    # Given
    batch = AcknowledgementBatch(0, type_count - 1, [1] * type_count)
    partitions = [
        FetchPartition(partition_index=number, acknowledgement_batches=[batch])
        for number in range(partition_count)
    ]
    request = ShareFetchRequest(group_id="g", member_id="m", topics=[FetchTopic(b"t" * 16, partitions)])
    frame = b"".join(codecs.encode_request(78, 2, 1, "", request))[4:]

    # When
    decoded = codecs.decode_request(frame)

    # Then
    assert decoded.message == request


@pytest.mark.parametrize("left_bytes", [1, 4, 7])
def test_numbers_that_the_message_has_no_room_for_are_malformed(left_bytes: int) -> None:
    # Given
    codec = EmittedCodec(ShareFetchRequest, 2)
    request = ShareFetchRequest("g", "m", forgotten_topics_data=[ForgottenTopic(b"t" * 16, [1, 2])])
    whole = b"".join(bytes(chunk) for chunk in codec.encode(request))
    tag_counts, numbers = 2, 8

    # When
    cut = whole[: len(whole) - tag_counts - numbers + left_bytes]

    # Then
    with pytest.raises(MalformedMessage, match=r"forgotten_topics_data\.partitions: numbers up to byte"):
        codec.decode(cut, 0)
