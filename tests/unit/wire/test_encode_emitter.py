"""The encoding half of emitted codecs."""

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from kproxy.wire.byte_streams import UnencodableMessage
from kproxy.wire.codec_emitter import EmittedCodec
from kproxy.wire.codec_source import CodecSource
from kproxy.wire.encode_emitter import EncodeEmitter
from kproxy.wire.message_struct import MessageStruct
from kproxy.wire.messages import share_fetch_request
from kproxy.wire.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kproxy.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kproxy.wire.messages.share_fetch_request import AcknowledgementBatch, ShareFetchRequest
from kproxy.wire.primitives import WireConstruct
from tests.unit.wire.sample_message import SAMPLE, SAMPLE_V0, SAMPLE_V2, Point, SampleMessage
from tests.worlds.both_codecs import encode_with


@pytest.mark.parametrize(("version", "encoded"), [(0, SAMPLE_V0), (2, SAMPLE_V2)])
def test_a_message_without_records_is_one_chunk(version: int, encoded: bytes) -> None:
    assert EmittedCodec(SampleMessage, version).encode(SAMPLE) == [encoded]


def test_records_are_chunks_of_their_own_and_not_copied() -> None:
    # Given
    first, second = memoryview(b"first batch"), b"second batch"
    partitions = [
        PartitionData(0, records=first),
        PartitionData(1, records=b""),
        PartitionData(2, records=second),
    ]
    message = FetchResponse(responses=[FetchableTopicResponse("t", partitions=partitions)])

    # When
    chunks = EmittedCodec(FetchResponse, 12).encode(message)

    # Then
    assert len(chunks) == 5
    assert chunks[1] is first
    assert chunks[3] is second
    assert EmittedCodec(FetchResponse, 12).decode(b"".join(chunks), 0)[0] == message


def test_numbers_a_length_an_array_and_no_tagged_fields_are_written_at_once() -> None:
    source = EmittedCodec(ShareFetchRequest, 1).source_of_encode().text
    assert "pack_qqB_N_b_x[len(" in source


def test_a_varint_of_two_bytes_is_written_where_it_is_needed() -> None:
    # Given
    long_array = replace(SAMPLE, flags=[True] * 127)

    # When
    (encoded,) = EmittedCodec(SampleMessage, 2).encode(long_array)

    # Then
    assert encoded == SAMPLE_V2.replace(b"\x03\x01\x00", b"\x80\x01" + b"\x01" * 127, 1)


UNENCODABLE: dict[str, SampleMessage] = {
    "a number out of range": replace(SAMPLE, port=65536),
    "a short uuid": replace(SAMPLE, topic_id=b"short"),
    "a long uuid in an array": replace(SAMPLE, topic_ids=[bytes(17)]),
    "a string that is too long": replace(SAMPLE, hint="a" * 32768),
    "a number out of range in a struct": replace(SAMPLE, points=[Point(128)]),
    "a number out of range in a tagged field": replace(SAMPLE, tagged_size=2**15),
    "a known tag among the unknown": replace(SAMPLE, tagged_size=1, unknown_tagged_fields=((4, b""),)),
}


@pytest.mark.parametrize("message", UNENCODABLE.values(), ids=UNENCODABLE)
def test_what_cannot_be_sent_is_refused(message: SampleMessage) -> None:
    with pytest.raises(Exception, match=r".") as refusal:
        EmittedCodec(SampleMessage, 2).encode(message)
    assert type(refusal.value).__name__ in {"UnencodableMessage", "error"}


@pytest.mark.parametrize(
    "newer", [replace(SAMPLE, limit=5), replace(SAMPLE, corner=Point(9)), replace(SAMPLE, names=["a"])]
)
def test_a_value_that_the_version_cannot_carry_is_refused(newer: SampleMessage) -> None:
    with pytest.raises(UnencodableMessage, match="this version has no "):
        EmittedCodec(SampleMessage, 0).encode(newer)


def test_an_ignorable_field_is_dropped_where_the_version_lacks_it() -> None:
    assert EmittedCodec(SampleMessage, 0).encode(replace(SAMPLE, hint="newer")) == [SAMPLE_V0]


def test_records_must_be_bytes() -> None:
    not_bytes: Any = "text"
    message = FetchResponse(
        responses=[FetchableTopicResponse("t", partitions=[PartitionData(records=not_bytes)])]
    )
    with pytest.raises(UnencodableMessage, match="records: 'text' is not bytes"):
        EmittedCodec(FetchResponse, 12).encode(message)


def test_unknown_tags_behind_an_array_of_numbers_are_written() -> None:
    """The array and the end of its struct are usually one write; here they cannot be."""
    # Given
    codec = EmittedCodec(ShareFetchRequest, 1)
    batch = AcknowledgementBatch(1, 2, [1], unknown_tagged_fields=((3, b"new"),))

    # When
    chunks = codec.encode(_fetch_with(batch))

    # Then
    assert b"\x02\x01" + b"\x01\x03\x03new" in chunks[0]
    assert codec.decode(chunks[0], 0)[0] == _fetch_with(batch)


def _fetch_with(batch: AcknowledgementBatch) -> ShareFetchRequest:
    partition = share_fetch_request.FetchPartition(0, acknowledgement_batches=[batch])
    return ShareFetchRequest("g", "m", topics=[share_fetch_request.FetchTopic(partitions=[partition])])


class Unheard(WireConstruct):
    """A leaf that somebody added without telling the emitters."""

    minimum_size = 1


def test_a_construct_that_the_emitter_does_not_know_is_a_broken_invariant() -> None:
    tree = MessageStruct(Point, "x" / Unheard())
    with pytest.raises(AssertionError, match="no code for"):
        EncodeEmitter(CodecSource()).emit(tree)


def test_a_long_array_is_written_in_chunks_as_it_grows() -> None:
    """Every part of it is an object: all at once they would take many times the bytes of the message."""
    # Given
    results = [DeletableGroupResult(f"group-{number}", 15, None) for number in range(20_000)]
    codec = EmittedCodec(DeleteGroupsResponse, 2)
    codec.encode(DeleteGroupsResponse())
    tracemalloc.start()

    # When
    chunks = codec.encode(DeleteGroupsResponse(results=results))

    # Then
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    encoded = b"".join(chunks)
    assert len(chunks) > 1
    assert peak < 2 * len(encoded) + 512 * 1024
    assert encoded == encode_with("construct", DeleteGroupsResponse(results=results), 2)
