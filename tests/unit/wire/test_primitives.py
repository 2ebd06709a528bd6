"""The leaves of construct trees, each alone."""

from typing import Any

import pytest

from kproxy.errors import MalformedMessage
from kproxy.wire.byte_streams import ByteSink, ByteSource, UnencodableMessage
from kproxy.wire.length_prefixes import COMPACT_LENGTH, INT16_LENGTH, INT32_LENGTH
from kproxy.wire.primitives import (
    BOOL,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT16,
    UINT32,
    UUID,
    Array,
    ByteString,
    Nullable,
    Records,
    String,
    WireConstruct,
)

COMPACT_STRING = String(COMPACT_LENGTH, is_nullable=False)
NULLABLE_STRING = String(INT16_LENGTH, is_nullable=True)
NUMBERS = Array(INT32_LENGTH, INT32, is_nullable=False)

ENCODED: list[tuple[WireConstruct, Any, bytes]] = [
    (BOOL, True, b"\x01"),
    (INT8, -1, b"\xff"),
    (INT16, -2, b"\xff\xfe"),
    (UINT16, 65535, b"\xff\xff"),
    (INT32, 1, b"\x00\x00\x00\x01"),
    (UINT32, 2**32 - 1, b"\xff\xff\xff\xff"),
    (INT64, -1, b"\xff" * 8),
    (FLOAT64, 1.0, b"\x3f\xf0\x00\x00\x00\x00\x00\x00"),
    (UUID, bytes(range(16)), bytes(range(16))),
    (COMPACT_STRING, "é", b"\x03\xc3\xa9"),
    (NULLABLE_STRING, None, b"\xff\xff"),
    (NULLABLE_STRING, "ab", b"\x00\x02ab"),
    (ByteString(INT32_LENGTH, is_nullable=True), None, b"\xff\xff\xff\xff"),
    (ByteString(COMPACT_LENGTH, is_nullable=True), b"", b"\x01"),
    (Records(COMPACT_LENGTH, is_nullable=False), b"batch", b"\x06batch"),
    (NUMBERS, [1, 2], b"\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02"),
    (Array(COMPACT_LENGTH, COMPACT_STRING, is_nullable=True), None, b"\x00"),
    (Array(COMPACT_LENGTH, COMPACT_STRING, is_nullable=True), ["", "a"], b"\x03\x01\x02a"),
    (Nullable(INT16), None, b"\xff"),
    (Nullable(INT16), 5, b"\x01\x00\x05"),
]


@pytest.mark.parametrize(("construct", "value", "encoded"), ENCODED)
def test_a_value_is_built_and_parsed_back(construct: WireConstruct, value: Any, encoded: bytes) -> None:
    assert construct.build(value) == encoded
    assert construct.parse(encoded) == value


@pytest.mark.parametrize(("construct", "value", "encoded"), ENCODED)
def test_a_value_cut_anywhere_is_malformed(construct: WireConstruct, value: Any, encoded: bytes) -> None:
    for size in range(len(encoded)):
        with pytest.raises(MalformedMessage):
            construct.parse(encoded[:size])


MALFORMED: dict[str, tuple[WireConstruct, bytes]] = {
    "null where it is not allowed": (COMPACT_STRING, b"\x00"),
    "a negative length": (NULLABLE_STRING, b"\xff\xfe"),
    "text that is no UTF-8": (COMPACT_STRING, b"\x02\xff"),
    "half a surrogate pair": (COMPACT_STRING, b"\x04\xed\xa0\x80"),
    "a string that is too long": (COMPACT_STRING, b"\x81\x80\x02" + b"a" * 32768),
    "a count of null where it is not allowed": (NUMBERS, b"\xff\xff\xff\xff"),
    "a count that cannot be": (NUMBERS, b"\x7f\xff\xff\xff" + bytes(100)),
    "a count one too large": (NUMBERS, b"\x00\x00\x00\x02" + bytes(7)),
    "a marker that says neither": (Nullable(INT16), b"\x02\x00\x05"),
}


@pytest.mark.parametrize(("construct", "received"), MALFORMED.values(), ids=MALFORMED)
def test_what_cannot_be_is_malformed(construct: WireConstruct, received: bytes) -> None:
    with pytest.raises(MalformedMessage, match=r"\(parsing\)"):
        construct.parse(received)


UNENCODABLE: dict[str, tuple[WireConstruct, Any]] = {
    "a number out of range": (INT8, 128),
    "text as a number": (INT32, "1"),
    "a short uuid": (UUID, b"abc"),
    "a long uuid": (UUID, bytes(17)),
    "null text": (COMPACT_STRING, None),
    "bytes as text": (COMPACT_STRING, b"a"),
    "half a surrogate pair": (COMPACT_STRING, "\ud800"),
    "text that is too long": (COMPACT_STRING, "a" * 32768),
    "text as bytes": (ByteString(COMPACT_LENGTH, is_nullable=False), "a"),
    "null bytes": (ByteString(COMPACT_LENGTH, is_nullable=False), None),
    "a null array": (NUMBERS, None),
}


@pytest.mark.parametrize(("construct", "value"), UNENCODABLE.values(), ids=UNENCODABLE)
def test_what_cannot_be_sent_is_refused(construct: WireConstruct, value: Any) -> None:
    with pytest.raises(UnencodableMessage, match=r"\(building\)"):
        construct.build(value)


def test_any_byte_but_zero_is_true() -> None:
    assert BOOL.parse(b"\x02") is True
    assert BOOL.parse(b"\x00") is False


def test_the_longest_string_passes() -> None:
    longest = "a" * 32767
    assert COMPACT_STRING.parse(COMPACT_STRING.build(longest)) == longest


def test_elements_that_take_no_bytes_are_bounded_by_those_that_remain_all_the_same() -> None:
    """A struct whose fields a version lacks is empty; its count must not buy a loop of 2^31 turns."""

    class Nothing(WireConstruct):
        minimum_size = 0

    array = Array(INT32_LENGTH, Nothing(), is_nullable=False)
    with pytest.raises(MalformedMessage, match="2147483647 elements cannot stand in 3 bytes"):
        array.parse(b"\x7f\xff\xff\xff" + bytes(3))


def test_records_are_a_view_on_parse_and_a_chunk_of_their_own_on_build() -> None:
    # Given
    records = Records(COMPACT_LENGTH, is_nullable=False)
    received = bytearray(b"\x06batch")
    sink = ByteSink()

    # When
    parsed = records.parse(memoryview(received))
    records.build_stream(parsed, sink)
    received[1] = ord("B")

    # Then
    assert parsed == b"Batch"
    assert sink.chunks() == [b"\x06", b"Batch"]


def test_bytes_are_copied_out_of_the_message() -> None:
    received = bytearray(b"\x06token")
    parsed = ByteString(COMPACT_LENGTH, is_nullable=False).parse(memoryview(received))
    received[1] = ord("T")
    assert parsed == b"token"


def test_parsing_leaves_what_comes_after() -> None:
    source = ByteSource(b"\x00\x01\x02")
    assert INT16.parse_stream(source) == 1
    assert source.remaining == 1
