"""What emitted codecs call."""

import struct
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire import codecs
from kproxy.wire.codec_runtime import (
    MANY_TAGS,
    MOST_LISTED_NUMBERS,
    ONE_BYTE,
    PackedNumbers,
    PackedTags,
    array_methods,
    packed_numbers,
    packed_tags,
    tagged_field_head,
    unknown_tagged_fields,
)
from kproxy.wire.message_struct import encode_tagged_fields
from kproxy.wire.messages.delete_groups_request import DeleteGroupsRequest
from kproxy.wire.messages.share_fetch_request import ForgottenTopic, ShareFetchRequest
from kproxy.wire.varints import encode_varint
from tests.worlds.both_codecs import CODEC_KINDS, CodecKind, decode_with, encode_with

TAGS = ((1, b""), (200, b"content"), (70_000, b"x" * 200))


def test_one_byte_is_found_by_its_number() -> None:
    assert (ONE_BYTE[0], ONE_BYTE[200], len(ONE_BYTE)) == (b"\x00", b"\xc8", 256)


def test_an_array_between_other_values_is_packed_at_once() -> None:
    table = array_methods("pack", "qB", "b", "x")
    assert table[2](1, 3, -1, 5) == b"\x00\x00\x00\x00\x00\x00\x00\x01\x03\xff\x05\x00"


def test_methods_of_short_arrays_are_kept_and_those_of_long_ones_are_not() -> None:
    """A client could fill a table by naming every count there is."""
    # Given
    table = array_methods("unpack_from", "", "i", "H")

    # When
    for count in (1, 128, 129, 2**31 - 1):
        table[count]

    # Then
    assert sorted(table) == [1, 128]


def test_a_table_exists_once() -> None:
    assert array_methods("pack", "", "i", "") is array_methods("pack", "", "i", "")


def test_the_head_of_a_tagged_field_gives_tag_and_extent() -> None:
    seen: set[int] = set()
    assert tagged_field_head(b"?\x07\x02ab", 1, seen) == (7, 3, 5)
    assert seen == {7}


@pytest.mark.parametrize(
    ("buffer", "seen", "reason"),
    [
        (b"\x07\x02a", set(), "tag 7 of 2 bytes at byte 2 of 3"),
        (b"\x07\x00", {7}, "tag 7 stands twice"),
    ],
)
def test_a_tagged_field_that_cannot_be_is_malformed(buffer: bytes, seen: set[int], reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        tagged_field_head(buffer, 0, seen)


def test_unknown_tagged_fields_are_ordered_by_tag() -> None:
    fields, position = unknown_tagged_fields(b"\x09\x01b\x08\x00rest", 0, 2)
    assert (fields, position) == (((8, b""), (9, b"b")), 5)


def encoded(tags: tuple[tuple[int, bytes], ...]) -> bytes:
    return b"".join(encode_varint(tag) + encode_varint(len(content)) + content for tag, content in tags)


def memory_of(work: Callable[[], object]) -> int:
    work()
    tracemalloc.start()
    kept = work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return peak


@pytest.mark.parametrize(
    ("code", "number"), [("b", -3), ("h", -300), ("i", -70_000), ("q", 1 << 40), ("d", 0.5)]
)
def test_packed_numbers_are_those_of_the_wire(code: str, number: float) -> None:
    numbers = packed_numbers(struct.pack(f">2{code}", number, 7), code)

    assert numbers == [number, 7]
    assert [number, 7] == numbers
    assert numbers != [number]
    assert (numbers != [number, 7]) is False
    assert numbers != [7, number]
    assert numbers != "numbers"


def test_packed_tags_read_as_a_tuple() -> None:
    buffer = b"?" + encoded(TAGS) + b"rest"

    tags, position = packed_tags(buffer, 1, len(TAGS))

    assert buffer[position:] == b"rest"
    assert tags == TAGS
    assert tags == packed_tags(memoryview(buffer), 1, len(TAGS))[0]
    assert (*tags,) == TAGS
    assert (tags[0], tags[-1], tags[1:]) == (TAGS[0], TAGS[-1], TAGS[1:])
    assert tags != TAGS[:2]
    assert tags != "tags"
    assert repr(tags) == "PackedTags(3, 217 bytes)"
    with pytest.raises(IndexError):
        tags[3]


def test_packed_tags_are_written_as_they_came() -> None:
    assert encode_tagged_fields(PackedTags(3, encoded(TAGS))) == encode_tagged_fields(TAGS)


@pytest.mark.parametrize(
    ("buffer", "reason"),
    [
        (b"\x02\x00\x01\x00", "tag 1 stands behind tag 2"),
        (b"\x02\x00\x02\x00", "tag 2 stands behind tag 2"),
        (b"\x01\x00\x02\x09ab", "tag 2 of 9 bytes at byte 4 of 6"),
        (b"\x81\x00\x00\x02\x00", "varint 1 is longer than needed"),
        (b"\x01\x80\x00\x02\x00", "varint 0 is longer than needed"),
    ],
)
def test_packed_tags_that_cannot_be_are_malformed(buffer: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessage, match=reason):
        packed_tags(buffer, 0, 2)


@pytest.mark.parametrize("kind", CODEC_KINDS)
def test_many_unknown_tags_must_rise_whichever_codec_reads_them(kind: CodecKind) -> None:
    message = encode_with(kind, DeleteGroupsRequest(), 2)
    tags = tuple((number, b"") for number in range(MANY_TAGS + 1))
    swapped = (tags[1], tags[0], *tags[2:])

    def with_tags(given: tuple[tuple[int, bytes], ...]) -> bytes:
        return message[:-1] + encode_varint(len(given)) + encoded(given)

    decoded: Any = decode_with(kind, DeleteGroupsRequest, 2, with_tags(tags))

    assert decoded.unknown_tagged_fields == tags
    assert encode_with(kind, decoded, 2) == with_tags(tags)
    with pytest.raises(MalformedMessage, match="tag"):
        decode_with(kind, DeleteGroupsRequest, 2, with_tags(swapped))
    few: Any = decode_with(kind, DeleteGroupsRequest, 2, with_tags(swapped[:MANY_TAGS]))
    assert few.unknown_tagged_fields == tags[:MANY_TAGS]


def test_several_numbers_of_a_request_are_packed_and_written_again() -> None:
    partitions = list(range(MOST_LISTED_NUMBERS + 1))
    request = ShareFetchRequest("g", "m", forgotten_topics_data=[ForgottenTopic(b"t" * 16, partitions)])
    frame = b"".join(codecs.encode_request(78, 2, 1, "", request))

    decoded = codecs.decode_request(memoryview(frame)[4:]).message

    assert isinstance(decoded, ShareFetchRequest)
    packed: Sequence[int] = decoded.forgotten_topics_data[0].partitions
    assert type(packed) is PackedNumbers
    assert decoded == request
    assert b"".join(codecs.encode_request(78, 2, 1, "", decoded)) == frame


def test_many_numbers_and_tags_take_four_times_their_size_at_most() -> None:
    topics = [ForgottenTopic(b"t" * 16, list(range(500_000)))]
    request = ShareFetchRequest("g", "m", forgotten_topics_data=topics)
    request.unknown_tagged_fields = tuple((number, b"") for number in range(10_000))
    frame = memoryview(b"".join(codecs.encode_request(78, 2, 1, "", request)))[4:]

    assert memory_of(lambda: codecs.decode_request(frame)) < 4 * len(frame)
